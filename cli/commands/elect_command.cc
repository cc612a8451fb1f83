// `elect` and `observe`: the election of a leader among processes.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands/all_commands.h"
#include "cli/election/election.h"
#include "cli/output/duration.h"

namespace fairlock::cli {

namespace {

constexpr DurationMs kDefaultTtlMs = 15'000;
constexpr DurationMs kKillMarginMaxMs = 100;

struct ElectArguments {
  std::optional<std::string> name;
  std::optional<std::string> key;  // the same, also if it begins with a dash
  std::optional<std::string> owner;
  std::optional<std::string> listen;
  std::optional<std::string> label;
  std::optional<DurationMs> ttl_ms;
  std::optional<DurationMs> kill_after_ms;
  std::optional<DurationMs> duration_ms;
  bool is_json = false;
};

Result<int> Elect(const ElectArguments& given, Context& context) {
  if (given.name.has_value() == given.key.has_value()) {
    return Failure{kExitWrongUse, "NAME is required: give it before `--`, or with --key"};
  }
  const DurationMs ttl_ms = given.ttl_ms.value_or(kDefaultTtlMs);
  if (given.kill_after_ms && *given.kill_after_ms > ttl_ms / 2) {
    return Failure{kExitWrongUse,
                   "--kill-after must be at most half of --ttl, because the hook must have ended "
                   "before the lease does; got " +
                       ShowDuration(*given.kill_after_ms) + " and " + ShowDuration(ttl_ms)};
  }
  if (given.kill_after_ms && context.after_dashes.empty()) {
    return Failure{kExitWrongUse, "--kill-after needs a hook: give its command after `--`"};
  }
  RunOptions options;
  options.keys = {given.name ? *given.name : *given.key};
  options.owner = given.owner ? *given.owner : UniqueOwner();
  options.is_owner_given = given.owner.has_value();
  options.words.ttl_ms = ttl_ms;
  options.words.wait_ms = kForever;
  options.words.label = given.label;
  options.command = context.after_dashes;
  if (!options.command.empty()) options.kill_after_ms = given.kill_after_ms.value_or(ttl_ms / 3);
  options.kill_margin_ms = std::min(kKillMarginMaxMs, ttl_ms / 10);
  options.is_json = given.is_json;
  return Election(options, given.listen.value_or(""), given.duration_ms, context).Run();
}

Action DescribeElect(Arguments& arguments) {
  auto given = std::make_shared<ElectArguments>();
  arguments.Optional("NAME", given->name, "Name of the election, which is the key of a lock");
  arguments.Text("--key", given->key, "The same, also if it begins with a dash");
  arguments.Text("--listen", given->listen,
                 "Answer HTTP requests at HOST:PORT: / names the leader in JSON, /leaderz and "
                 "/healthz are for probes");
  arguments.Lease("--ttl", given->ttl_ms,
                  "How soon another candidate can lead after this one has died (15s)");
  arguments.Duration("--kill-after", given->kill_after_ms,
                     "Time that the hook has when the leadership ends (a third of --ttl)");
  arguments.Duration("--for", given->duration_ms, "Resign after this time");
  arguments.Text("--label", given->label, "Kind of lock, for the statistics");
  arguments.Flag(
      "--json", given->is_json,
      "Print the messages of fairlockctl, on standard error, as one JSON object per line");
  arguments.Text("--owner,-o", given->owner, "This candidate (HOST:PID:RANDOM)");
  return [given](Context& context) { return Elect(*given, context); };
}

Action DescribeObserve(Arguments& arguments) {
  auto options = std::make_shared<ObserveOptions>();
  arguments.Required("NAME", options->key, "Name of the election");
  arguments.Number("--count,-n", options->count, {1, INT64_MAX}, "Stop after this many lines");
  arguments.Duration("--for", options->duration_ms, "Stop after this time");
  arguments.Flag("--json", options->is_json, "One JSON object per line");
  return [options](Context& context) { return Observe(*options, context); };
}

constexpr auto kElectCommands = std::to_array<CommandRow>({
    {.name = "elect",
     .group = kLocking,
     .summary = "Takes part in the election of a leader: elect NAME [-- HOOK]",
     .describe = DescribeElect,
     .wants_dashes = true},
    {"observe", kLocking, "Prints who leads, whenever that changes", DescribeObserve},
});

}  // namespace

std::span<const CommandRow> ElectCommands() { return kElectCommands; }

}  // namespace fairlock::cli
