// `run`: runs a command under a lock.
#include <algorithm>
#include <array>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/output/duration.h"
#include "cli/run/runner.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kDefaultTtlMs = 30'000;
constexpr DurationMs kDefaultKillAfterMs = 10'000;
constexpr DurationMs kKillMarginMaxMs = 100;
constexpr DurationMs kDefaultReportEveryMs = 60'000;

struct RunArguments {
  RunOptions run;
  std::optional<std::string> owner;
  std::optional<DurationMs> grace_ms;
  std::optional<DurationMs> kill_after_ms;
  std::optional<DurationMs> report_every_ms;
  std::vector<std::string> more_keys;
  std::optional<std::int64_t> conflict_exit_code;
  bool is_nonblocking = false;
};

// How long the hold lasts without a server that renews it: `ttl_ms`, the lease, or the grace of a
// session. None if it then ends with the connection.
std::optional<DurationMs> LastsMs(const RunArguments& given, std::optional<DurationMs> ttl_ms) {
  const DurationMs grace_ms = given.grace_ms.value_or(0);
  return grace_ms > 0 ? std::min(grace_ms, ttl_ms.value_or(kForever)) : ttl_ms;
}

// The command must have ended before the hold does, and the server may be away for a while.
std::string FindShortLease(const RunArguments& given) {
  const auto lasts_ms = LastsMs(given, given.run.words.ttl_ms);
  if (!given.kill_after_ms || !lasts_ms || *given.kill_after_ms <= *lasts_ms / 2) return "";
  const bool is_grace = lasts_ms != given.run.words.ttl_ms;
  return std::string("--kill-after must be at most half of ") + (is_grace ? "--grace" : "--ttl") +
         ", because the command must have ended before the " + (is_grace ? "session" : "lease") +
         " does, even if the server cannot be reached; got " + ShowDuration(*given.kill_after_ms) +
         " and " + ShowDuration(*lasts_ms);
}

std::string FindMistake(const RunArguments& given, const Context& context) {
  if (context.after_dashes.empty()) {
    return "COMMAND is required: give it after `--`, as in `fairlockctl run KEY -- COMMAND ARGS`";
  }
  if (given.run.keys.empty() && given.more_keys.empty()) {
    return "KEY is required: give it before `--`, or with --key";
  }
  if (given.run.words.wait_ms && given.is_nonblocking) {
    return "--wait and --nonblock cannot be given together";
  }
  if (given.grace_ms && !given.run.is_session) return "--grace needs --session";
  if (std::string mistake = FindMistake(given.run.words); !mistake.empty()) return mistake;
  return FindShortLease(given);
}

RunOptions Complete(const RunArguments& given, const Context& context) {
  RunOptions run = given.run;
  run.command = context.after_dashes;
  run.keys.insert(run.keys.end(), given.more_keys.begin(), given.more_keys.end());
  run.is_owner_given = given.owner.has_value();
  run.owner = given.owner ? *given.owner : UniqueOwner();
  if (given.is_nonblocking) run.words.wait_ms = 0;
  if (!run.words.wait_ms) run.words.wait_ms = kForever;
  if (!run.words.ttl_ms && !run.is_session) {
    run.words.ttl_ms = std::max(kDefaultTtlMs, 2 * given.kill_after_ms.value_or(0));
  }
  run.grace_ms = given.grace_ms.value_or(0);
  const DurationMs lasts_ms = LastsMs(given, run.words.ttl_ms).value_or(kForever);
  run.kill_after_ms = given.kill_after_ms.value_or(std::min(kDefaultKillAfterMs, lasts_ms / 3));
  run.kill_margin_ms = std::min(kKillMarginMaxMs, lasts_ms / 10);
  run.report_every_ms = given.report_every_ms.value_or(kDefaultReportEveryMs);
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
  arguments.Words("KEY", given->run.keys,
                  "Name of the lock; if several are given, all or none are taken");
  arguments.Texts("--key", given->more_keys, "Name of a lock; may be repeated");
  AddLockArguments(arguments, given->run.words);
  arguments.DurationOrForever("--wait,-w", given->run.words.wait_ms,
                              "How long to wait in the queue (forever; 0 for not at all)");
  arguments.Flag("-n,--nonblock", given->is_nonblocking, "Do not wait: the same as --wait 0");
  arguments.Number("-E,--conflict-exit-code", given->conflict_exit_code, {0, 255},
                   "Exit status if the lock is not obtained (75)");
  arguments.Flag("--session", given->run.is_session,
                 "Tie the lock to the connection of this process, without a lease");
  arguments.Duration("--grace", given->grace_ms,
                     "With --session: how long the lock outlives the connection");
  arguments.Duration("--kill-after", given->kill_after_ms,
                     "When the lock is lost, or soon will be: time from SIGTERM to SIGKILL "
                     "(10s, but at most a third of --ttl or --grace)");
  arguments.Duration("--report-every", given->report_every_ms,
                     "How often to report the wait when not on a terminal (1m; 0 for never)");
  arguments.Flag(
      "--json", given->run.is_json,
      "Print the messages of fairlockctl, on standard error, as one JSON object per line");
  arguments.Text("--owner,-o", given->owner, "The owner (HOST:PID:RANDOM)");
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
