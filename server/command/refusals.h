// Errors that more than one command answers, in the words of Redis.
#pragma once

#include "protocol/reply_writer.h"
#include "server/command/command_table.h"

namespace fairlock::command {

void RefuseSyntax(protocol::ReplyWriter& reply);

// In RESP2 a client that is subscribed to something may not use that command.
void RefuseConfined(const CommandSpec& spec, protocol::ReplyWriter& reply);

// No script may call that command.
void RefuseInScript(const CommandSpec& spec, protocol::ReplyWriter& reply);
// A script that was to read only has called a command that writes.
void RefuseInReadOnlyScript(protocol::ReplyWriter& reply);

// The request has too few or too many arguments for the row.
void RefuseArity(const CommandSpec& spec, protocol::ReplyWriter& reply);

}  // namespace fairlock::command
