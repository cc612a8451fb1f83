// Commands that do not exist here: those of Redis, and those that were misspelled.
#pragma once

#include <string_view>

#include "server/command/table/command_table.h"

namespace fairlock::command {

// What to use instead, as the end of a sentence; empty: Redis has no such command either.
std::string_view InsteadOf(std::string_view command);

// The command of the table that was probably meant, by another name for it or by a misspelled one;
// empty: none.
std::string_view CommandMeantBy(const CommandTable& table, std::string_view command);

// The same of the subcommands of one command, by its name within that: "LIST".
std::string_view SubcommandMeantBy(const CommandTable& table, const CommandSpec& container,
                                   std::string_view subcommand);

// It concerns clusters, and nothing else.
bool IsOfClusters(std::string_view command);

}  // namespace fairlock::command
