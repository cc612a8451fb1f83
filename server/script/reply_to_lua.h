// Turns the reply of a command into a value of Lua.
#pragma once

#include <string_view>

struct lua_State;

namespace fairlock::script {

// Pushes one value, as Redis gives it to scripts: an integer as a number, a bulk as a string, nil
// as false, a status as {ok = text}, an error as {err = text}, an array as a table.
//
// True: it is an error. REQUIRES: `reply` is one whole reply in RESP2.
bool PushReply(lua_State* lua, std::string_view reply);

// Pushes {err = text}; `text` has its first word.
void PushError(lua_State* lua, std::string_view text);

// Whether the table on top is an error that a command has answered: then it was counted.
bool IsCounted(lua_State* lua);

}  // namespace fairlock::script
