// The families of commands, and the table that contains all commands.
#pragma once

#include <span>

#include "server/command/table/command_table.h"

namespace fairlock::command {

// Each returns one family of commands, defined at the bottom of its file.
std::span<const CommandSpec> LockCommands();
std::span<const CommandSpec> MlockCommands();
std::span<const CommandSpec> LookCommands();
std::span<const CommandSpec> RecordCommands();
std::span<const CommandSpec> LimitCommands();
std::span<const CommandSpec> RedisWriteCommands();
std::span<const CommandSpec> BitFieldCommands();
std::span<const CommandSpec> RedisKeyCommands();
std::span<const CommandSpec> RedisWalkCommands();
std::span<const CommandSpec> HashCommands();
std::span<const CommandSpec> ListCommands();
std::span<const CommandSpec> ListWaitCommands();
std::span<const CommandSpec> SetCommands();
std::span<const CommandSpec> SortedSetCommands();
std::span<const CommandSpec> SortedSetRangeCommands();
std::span<const CommandSpec> SortedSetStoreCommands();
std::span<const CommandSpec> ScriptCommands();
std::span<const CommandSpec> SubscriptionCommands();
std::span<const CommandSpec> TransactionCommands();
std::span<const CommandSpec> ConnectionCommands();
std::span<const CommandSpec> AclCommands();
std::span<const CommandSpec> ClientCommands();
std::span<const CommandSpec> ServerCommands();
std::span<const CommandSpec> ClusterCommands();
// Begins with subcommands of CLUSTER, so it follows ClusterCommands.
std::span<const CommandSpec> RedisClusterCommands();
std::span<const CommandSpec> IntrospectionCommands();

// Returns the table of all commands.
CommandTable WholeLanguage();

}  // namespace fairlock::command
