// `run`: a command under a lock.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <random>

#include "cli/commands/all_commands.h"
#include "cli/run/runner.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kDefaultTtlMs = 30'000;
constexpr DurationMs kDefaultKillAfterMs = 10'000;

struct RunArguments {
  RunOptions run;
  std::optional<std::string> owner;
  std::optional<DurationMs> grace_ms;
  std::optional<DurationMs> kill_after_ms;
  std::optional<DurationMs> wait_seconds_ms;
  std::optional<std::int64_t> conflict_exit_code;
  bool is_nonblocking = false;
};

// Different for each run, and telling where it is: "web-3:4711:9f86d081".
std::string MakeOwner() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string owner = std::string(host.data()) + ":" + std::to_string(::getpid()) + ":";
  for (int digit = 0; digit < 12; ++digit) owner += kDigits[random() % kDigits.size()];
  return owner;
}

std::string FindMistake(const RunArguments& given, const Context& context) {
  if (context.behind_dashes.empty()) {
    return "which command? It stands behind `--`: fairlockctl run KEY -- COMMAND ARGS";
  }
  const int waits = (given.run.words.wait_ms ? 1 : 0) + (given.wait_seconds_ms ? 1 : 0) +
                    (given.is_nonblocking ? 1 : 0);
  if (waits > 1) return "--wait, -w and -n say the same; one of them would be right";
  if (given.grace_ms && !given.run.is_session) return "--grace is that of a --session";
  if (given.run.words.is_shared && given.run.words.limit) {
    return "--shared and --limit exclude each other";
  }
  return "";
}

RunOptions Complete(const RunArguments& given, const Context& context) {
  RunOptions run = given.run;
  run.command = context.behind_dashes;
  run.is_owner_given = given.owner.has_value();
  run.owner = given.owner ? *given.owner : MakeOwner();
  if (given.wait_seconds_ms) run.words.wait_ms = given.wait_seconds_ms;
  if (given.is_nonblocking) run.words.wait_ms = 0;
  if (!run.words.wait_ms) run.words.wait_ms = kForever;
  if (!run.words.ttl_ms && !run.is_session) run.words.ttl_ms = kDefaultTtlMs;
  run.grace_ms = given.grace_ms.value_or(0);
  run.kill_after_ms = given.kill_after_ms.value_or(kDefaultKillAfterMs);
  run.conflict_exit_code = static_cast<int>(given.conflict_exit_code.value_or(kExitNotObtained));
  return run;
}

Result<int> RunUnderLock(const RunArguments& given, Context& context) {
  const std::string mistake = FindMistake(given, context);
  if (!mistake.empty()) return Failure{kExitWrongUse, mistake};
  return Runner(Complete(given, context), context).Run();
}

Action DescribeRun(Arguments& arguments) {
  auto given = std::make_shared<RunArguments>();
  arguments.Required("KEY", given->run.key, "The lock's name");
  AddLockWords(arguments, given->run.words);
  arguments.DurationOrForever("--wait", given->run.words.wait_ms,
                              "How long to stand in line (forever); 0 only tries");
  arguments.Seconds("-w", given->wait_seconds_ms, "The same in seconds, as flock takes it");
  arguments.Flag("-n,--nonblock", given->is_nonblocking, "Only try: --wait 0");
  arguments.Number("-E,--conflict-exit-code", given->conflict_exit_code, {0, 255},
                   "The exit status if the lock is not obtained (75)");
  arguments.Flag("--session", given->run.is_session,
                 "The lock lives as long as this process's connection, without a lease");
  arguments.Duration("--grace", given->grace_ms, "With --session: outlives its connection by that");
  arguments.Duration("--kill-after", given->kill_after_ms,
                     "After a lost lock: from SIGTERM to SIGKILL (10s)");
  arguments.Text("--owner", given->owner, "Who holds it (HOST:PID:RANDOM)");
  return [given](Context& context) { return RunUnderLock(*given, context); };
}

constexpr auto kRunCommands = std::to_array<CommandRow>({
    {.name = "run",
     .group = kLocking,
     .summary = "Runs a command under a lock: run KEY -- COMMAND ARGS",
     .describe = DescribeRun,
     .wants_dashes = true},
});

}  // namespace

std::span<const CommandRow> RunCommands() { return kRunCommands; }

}  // namespace fairlock::cli
