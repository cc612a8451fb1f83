// Errors that more than one command answers, in the words of Redis.
#pragma once

#include <string_view>

#include "protocol/reply_writer.h"
#include "server/command/table/command_table.h"

namespace fairlock::command {

void RefuseSyntax(protocol::ReplyWriter& reply);

// In RESP2 a client that is subscribed to something may not use that command.
void RefuseConfined(const CommandSpec& spec, protocol::ReplyWriter& reply);

// No script may call the command.
void RefuseInScript(protocol::ReplyWriter& reply);
// A script that was to read only has called a command that writes.
void RefuseInReadOnlyScript(protocol::ReplyWriter& reply);

// The request has too few or too many arguments for the row.
void RefuseArity(const CommandSpec& spec, protocol::ReplyWriter& reply);

// The same of what a script calls.
void RefuseArityInScript(const CommandSpec& spec, protocol::ReplyWriter& reply);

// The configured number of `what` is reached.
void RefuseTooMany(protocol::ReplyWriter& reply, std::string_view what);

}  // namespace fairlock::command
