// Every command of the tool.
#pragma once

#include <span>

#include "cli/command.h"

namespace fairlock::cli {

// In the order of the help. A row without `describe` only groups those behind it: "limit" stands
// before "limit set".
std::span<const CommandRow> AllCommands();

// The families, each with the table at the bottom of its file.
std::span<const CommandRow> StatusCommands();
std::span<const CommandRow> LocksCommands();
std::span<const CommandRow> ShowCommands();
std::span<const CommandRow> LockCommands();
std::span<const CommandRow> RunCommands();
std::span<const CommandRow> BreakCommands();

}  // namespace fairlock::cli
