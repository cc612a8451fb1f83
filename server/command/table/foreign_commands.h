// Knows commands that do not exist here: Redis commands and misspellings.
#pragma once

#include <string_view>

#include "server/command/table/command_table.h"

namespace fairlock::command {

// Returns what to use instead, as the end of a sentence; empty if it is not a Redis command either.
std::string_view InsteadOf(std::string_view command);

// Returns the command that was probably meant by another name for it or a misspelling; empty if
// there is none.
std::string_view CommandMeantBy(const CommandTable& table, std::string_view command);

// The same for the subcommands of one command, given the subcommand's name alone: "LIST".
std::string_view SubcommandMeantBy(const CommandTable& table, const CommandSpec& container,
                                   std::string_view subcommand);

// Whether the command, or the subcommand of that command, concerns only Redis Cluster. With CLUSTER
// SLOTS, SHARDS or NODES, clients find out whether a server is part of a Redis Cluster.
bool IsOfClusters(std::string_view command);
bool IsOfClusters(std::string_view container, std::string_view subcommand);

}  // namespace fairlock::command
