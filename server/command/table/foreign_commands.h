// Recognises commands that do not exist here, such as Redis commands and misspellings.
#pragma once

#include <string_view>

#include "server/command/table/command_table.h"

namespace fairlock::command {

// Returns what to use instead of the command, as the end of a sentence; empty if Redis does not
// have that command either.
std::string_view InsteadOf(std::string_view command);

// Returns the command that a client probably meant by a misspelled name, or by a name that other
// lock services use; empty if there is none.
std::string_view CommandMeantBy(const CommandTable& table, std::string_view command);

// Like CommandMeantBy, but for a subcommand of `container`. The name is that of the subcommand
// alone, such as "LIST".
std::string_view SubcommandMeantBy(const CommandTable& table, const CommandSpec& container,
                                   std::string_view subcommand);

// Whether the command, or the subcommand of that command, concerns only Redis Cluster. With CLUSTER
// SLOTS, SHARDS or NODES, clients find out whether a server is part of a Redis Cluster.
bool IsOfClusters(std::string_view command);
bool IsOfClusters(std::string_view container, std::string_view subcommand);

}  // namespace fairlock::command
