// `top`: a live view of the whole terminal.
#include <unistd.h>

#include <array>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/top/top.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kEveryMinMs = 100;

struct TopArguments {
  std::optional<std::string> glob;
  std::optional<DurationMs> every_ms;
};

Result<int> ShowTop(const TopArguments& given, Context& context) {
  TopOptions options;
  options.glob = given.glob.value_or(options.glob);
  options.every_ms = given.every_ms.value_or(options.every_ms);
  if (options.every_ms < kEveryMinMs) {
    return Failure{kExitWrongUse, "--every must be at least 100ms"};
  }
  if (::isatty(STDIN_FILENO) != 1 || !context.out.is_terminal) {
    return Failure{kExitWrongUse,
                   "top needs a terminal; `fairlockctl status` prints the same once"};
  }
  // Before the terminal is taken over, so that a wrong address is told like everywhere.
  const Result<protocol::Reply> pong = context.client.Ask({"PING"});
  if (!pong) return pong.failure();
  return Top(options, context).Run();
}

Action DescribeTop(Arguments& arguments) {
  auto given = std::make_shared<TopArguments>();
  arguments.Optional("GLOB", given->glob, "Only keys that match: * ? [a-z]");
  arguments.Duration("--every", given->every_ms, "How often it looks (1s)");
  return [given](Context& context) { return ShowTop(*given, context); };
}

constexpr auto kTopCommands = std::to_array<CommandRow>({
    {"top", kLooking,
     "A live view: the longest lines, the busiest labels; to look closer and break", DescribeTop},
});

}  // namespace

std::span<const CommandRow> TopCommands() { return kTopCommands; }

}  // namespace fairlock::cli
