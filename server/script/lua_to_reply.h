// Converts the value that a script returns to a reply.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/reply_writer.h"

struct lua_State;

namespace fairlock::script {

// Appends the value on top of the stack as Redis would: a number without its fraction, true as 1,
// false and nil as nil, and a table as an array up to its first nil or, if it has a field `err` or
// `ok`, as an error or a status. Metatables are ignored.
//
// Returns true if the reply is an error. Raises a Lua error, after appending part of the reply, if
// values are nested more deeply than clients accept, or if the reply exceeds the limit on replies.
bool AppendReply(lua_State* lua, protocol::RespVersion version, std::string& out);

// Writes "-" and the text as one line. Of the text, only line ends are replaced.
void AppendErrorLine(std::string& out, std::string_view text);

}  // namespace fairlock::script
