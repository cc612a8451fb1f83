// Converts the reply of a command to a Lua value.
#pragma once

#include <string_view>

struct lua_State;

namespace fairlock::script {

// Pushes one value in the form in which Redis passes it to scripts: an integer as a number, a bulk
// as a string, nil as false, a status as {ok = text}, an error as {err = text}, an array as a
// table.
//
// Returns true if the reply is an error. REQUIRES: `reply` is one whole reply in RESP2.
bool PushReply(lua_State* lua, std::string_view reply);

// Pushes {err = text}; the text begins with the error code.
void PushError(lua_State* lua, std::string_view text);

// Whether the table on top of the stack is the error of a command, which has already been counted.
bool IsCounted(lua_State* lua);

}  // namespace fairlock::script
