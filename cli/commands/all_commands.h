// Every command of the tool.
#pragma once

#include <span>

#include "cli/arguments/command.h"

namespace fairlock::cli {

// In the order of the help. A row without `describe` only groups those behind it: "limit" stands
// before "limit set".
std::span<const CommandRow> AllCommands();

// The families, each with the table at the bottom of its file.
std::span<const CommandRow> StatusCommands();
std::span<const CommandRow> LocksCommands();
std::span<const CommandRow> TopCommands();
std::span<const CommandRow> ShowCommands();
std::span<const CommandRow> LockCommands();
std::span<const CommandRow> RunCommands();
std::span<const CommandRow> WhyCommands();
std::span<const CommandRow> OwnerCommands();
std::span<const CommandRow> PastCommands();
std::span<const CommandRow> WatchCommands();
std::span<const CommandRow> BreakCommands();
std::span<const CommandRow> LimitCommands();
std::span<const CommandRow> ClientCommands();
std::span<const CommandRow> ServerCommands();
std::span<const CommandRow> BenchCommands();
std::span<const CommandRow> CompletionCommands();
std::span<const CommandRow> CompleteCommands();
std::span<const CommandRow> HelpCommands();

}  // namespace fairlock::cli
