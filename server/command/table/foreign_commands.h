// Commands that do not exist here: Redis commands and misspellings.
#pragma once

#include <string_view>

#include "server/command/table/command_table.h"

namespace fairlock::command {

// What to use instead, as the end of a sentence; empty: not a Redis command either.
std::string_view InsteadOf(std::string_view command);

// The command that was probably meant, given another name for it or a misspelling; empty:
// none.
std::string_view CommandMeantBy(const CommandTable& table, std::string_view command);

// The same for the subcommands of one command, given the subcommand's own name: "LIST".
std::string_view SubcommandMeantBy(const CommandTable& table, const CommandSpec& container,
                                   std::string_view subcommand);

// The command, or the subcommand of that command, is only about Redis Cluster. Clients probe with
// CLUSTER SLOTS, SHARDS or NODES whether a server is part of a Redis Cluster.
bool IsOfClusters(std::string_view command);
bool IsOfClusters(std::string_view container, std::string_view subcommand);

}  // namespace fairlock::command
