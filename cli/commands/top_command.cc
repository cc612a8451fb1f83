// `top`: a live, full-screen view.
#include <unistd.h>

#include <array>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/output/duration.h"
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
    return Failure{kExitWrongUse,
                   "--every must be at least 100ms, got " + ShowDuration(options.every_ms)};
  }
  if (::isatty(STDIN_FILENO) != 1 || !context.out.is_terminal) {
    return Failure{kExitWrongUse,
                   "top needs a terminal; `fairlockctl status` prints a summary once"};
  }
  // Connects before taking over the terminal, so that a wrong address is reported as it is by any
  // other command.
  const Result<protocol::Reply> pong = context.client.Ask({"PING"});
  if (!pong) return pong.failure();
  return Top(options, context).Run();
}

Action DescribeTop(Arguments& arguments) {
  auto given = std::make_shared<TopArguments>();
  arguments.Optional("GLOB", given->glob, "Only keys that match: * ? [a-z]");
  arguments.Duration("--every", given->every_ms, "How often to refresh, at least 100ms (1s)");
  return [given](Context& context) { return ShowTop(*given, context); };
}

constexpr auto kTopCommands = std::to_array<CommandRow>({
    {"top", kInspecting, "Shows a live view: the longest queues, the busiest labels", DescribeTop},
});

}  // namespace

std::span<const CommandRow> TopCommands() { return kTopCommands; }

}  // namespace fairlock::cli
