// Errors that several commands send, in the wording of Redis.
#pragma once

#include <string_view>

#include "protocol/reply_writer.h"
#include "server/command/table/command_table.h"

namespace fairlock::command {

void RefuseSyntax(protocol::ReplyWriter& reply);

// In RESP2, a subscribed client may not use that command.
void RefuseConfined(const CommandSpec& spec, protocol::ReplyWriter& reply);

// The command may not be called by scripts.
void RefuseInScript(protocol::ReplyWriter& reply);
// A read-only script has called a command that writes.
void RefuseInReadOnlyScript(protocol::ReplyWriter& reply);

// The request has too few or too many arguments for the row.
void RefuseArity(const CommandSpec& spec, protocol::ReplyWriter& reply);

// Like RefuseArity, but for a command that a script calls.
void RefuseArityInScript(const CommandSpec& spec, protocol::ReplyWriter& reply);

// The command belongs to Redis Cluster.
void RefuseOfClusters(protocol::ReplyWriter& reply);

// The configured limit on `what` has been reached.
void RefuseTooMany(protocol::ReplyWriter& reply, std::string_view what);

}  // namespace fairlock::command
