// `completion`: prints the completion script of a shell.
#include <array>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/commands/completion_scripts.h"

namespace fairlock::cli {

namespace {

Result<int> PrintCompletion(const std::string& shell, Context& context) {
  if (shell == "bash") context.Print(BashCompletion(context.model));
  if (shell == "zsh") context.Print(ZshCompletion(context.model));
  if (shell == "fish") context.Print(FishCompletion(context.model));
  return kExitDone;
}

Action DescribeCompletion(Arguments& arguments) {
  auto shell = std::make_shared<std::string>();
  arguments.RequiredChoice("SHELL", *shell, {"bash", "zsh", "fish"}, "Shell: bash, zsh or fish");
  return [shell](Context& context) { return PrintCompletion(*shell, context); };
}

constexpr auto kCompletionCommands = std::to_array<CommandRow>({
    {"completion", kServer, "Prints a completion script for a shell", DescribeCompletion},
});

}  // namespace

std::span<const CommandRow> CompletionCommands() { return kCompletionCommands; }

}  // namespace fairlock::cli
