// `help`: the same as --help behind the command's name.
#include <array>
#include <memory>
#include <vector>

#include "cli/commands/all_commands.h"

namespace fairlock::cli {

namespace {

// The command line is read as that of --help before an action is looked for.
Action DescribeHelp(Arguments& arguments) {
  auto words = std::make_shared<std::vector<std::string>>();
  arguments.Words("COMMAND", *words, "Which command; without it all are listed");
  return [words](Context&) { return Result<int>(kExitDone); };
}

constexpr auto kHelpCommands = std::to_array<CommandRow>({
    {"help", kServing, "How a command is used: help limit set", DescribeHelp},
});

}  // namespace

std::span<const CommandRow> HelpCommands() { return kHelpCommands; }

}  // namespace fairlock::cli
