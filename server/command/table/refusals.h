// Errors that several commands send, in the wording of Redis.
#pragma once

#include <string_view>

#include "protocol/reply_writer.h"
#include "server/command/table/command_table.h"

namespace fairlock::command {

void RefuseSyntax(protocol::ReplyWriter& reply);

// Refuses a command that a subscribed client may not use in RESP2.
void RefuseConfined(const CommandSpec& spec, protocol::ReplyWriter& reply);

// Refuses a command that scripts may not call.
void RefuseInScript(protocol::ReplyWriter& reply);
// Refuses a command that writes, because a read-only script has called it.
void RefuseInReadOnlyScript(protocol::ReplyWriter& reply);

// Refuses a request that has too few or too many arguments for the row.
void RefuseArity(const CommandSpec& spec, protocol::ReplyWriter& reply);

// Like RefuseArity, but for a command that a script calls.
void RefuseArityInScript(const CommandSpec& spec, protocol::ReplyWriter& reply);

// Refuses a command that belongs to Redis Cluster.
void RefuseOfClusters(protocol::ReplyWriter& reply);

// Says that the key holds a lock or a value of another type.
void RefuseType(protocol::ReplyWriter& reply);

// Says that the configured limit on `what` has been reached.
void RefuseTooMany(protocol::ReplyWriter& reply, std::string_view what);

}  // namespace fairlock::command
