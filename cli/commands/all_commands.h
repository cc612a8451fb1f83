// Every command of the tool.
#pragma once

#include <span>

#include "cli/arguments/command.h"

namespace fairlock::cli {

// All rows, in the order of the help. A row without `describe` is a group, and its commands follow
// it: "limit" precedes "limit set".
std::span<const CommandRow> AllCommands();

// Families of commands, one per file, each with its table at the end of the file.
std::span<const CommandRow> StatusCommands();
std::span<const CommandRow> LocksCommands();
std::span<const CommandRow> TopCommands();
std::span<const CommandRow> InspectCommands();
std::span<const CommandRow> LockCommands();
std::span<const CommandRow> RunCommands();
std::span<const CommandRow> ElectCommands();
std::span<const CommandRow> WhyCommands();
std::span<const CommandRow> OwnerCommands();
std::span<const CommandRow> HistoryCommands();
std::span<const CommandRow> WatchCommands();
std::span<const CommandRow> BreakCommands();
std::span<const CommandRow> LimitCommands();
std::span<const CommandRow> ClientCommands();
std::span<const CommandRow> ServerCommands();
std::span<const CommandRow> ClusterCommands();
std::span<const CommandRow> BenchCommands();
std::span<const CommandRow> CompletionCommands();
std::span<const CommandRow> CompleteCommands();
std::span<const CommandRow> HelpCommands();

}  // namespace fairlock::cli
