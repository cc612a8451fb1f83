// Turns the value that a script returns into a reply.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/reply_writer.h"

struct lua_State;

namespace fairlock::script {

// Appends the value on top of the stack, as Redis answers it: a number without its fraction, true
// as 1, false and nil as nil, a table as an array up to its first nil, or by its field `err` or
// `ok` as an error or status. Metatables are not asked.
//
// Returns whether the reply is an error. Raises an error of Lua, with a part of the reply appended,
// for values that are nested deeper than clients read, or longer than the limit of replies.
bool AppendReply(lua_State* lua, protocol::RespVersion version, std::string& out);

// "-" and the text as one line, as it is but for line ends.
void AppendErrorLine(std::string& out, std::string_view text);

}  // namespace fairlock::script
