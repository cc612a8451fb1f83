// `help COMMAND`: the same as `COMMAND --help`.
#include <array>
#include <memory>
#include <vector>

#include "cli/commands/all_commands.h"

namespace fairlock::cli {

namespace {

// Never runs: ReadCommandLine() rewrites the line to --help.
Action DescribeHelp(Arguments& arguments) {
  auto words = std::make_shared<std::vector<std::string>>();
  arguments.Words("COMMAND", *words, "Command to explain (all commands)");
  return [words](Context&) { return Result<int>(kExitDone); };
}

constexpr auto kHelpCommands = std::to_array<CommandRow>({
    {"help", kServer, "Shows the usage of a command: help limit set", DescribeHelp},
});

}  // namespace

std::span<const CommandRow> HelpCommands() { return kHelpCommands; }

}  // namespace fairlock::cli
