// `break`: ends holds by force, after showing them and asking for confirmation.
#include <array>
#include <cstddef>
#include <map>
#include <memory>

#include "cli/arguments/command.h"
#include "cli/commands/all_commands.h"
#include "cli/output/duration.h"
#include "cli/views/claim_tables.h"
#include "cli/views/force_release.h"
#include "cli/views/lock_walk.h"
#include "cli/views/wait_chain.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::size_t kKeysMax = 10'000;
constexpr std::size_t kKeysShown = 20;
constexpr std::string_view kPlacesRead = "100";

struct BreakOptions {
  std::string glob;
  std::optional<std::string> owner;
  std::optional<std::string> reason;
  std::optional<DurationMs> grace_ms;
  bool is_exact = false;
  bool is_dry = false;
  bool is_yes = false;
  bool is_json = false;
};

// One key, as it was when the user was asked for confirmation.
struct Target {
  std::string key;
  std::size_t partition;
  LockView lock;                       // only the holders to end, and the number of waiters
  std::optional<PlaceView> next = {};  // the first that waits for more than a reserved slot
};

bool IsGlob(const BreakOptions& options) {
  return !options.is_exact && options.glob.find_first_of("*?[") != std::string::npos;
}

ForceRelease ForceReleaseOf(const std::string& key, const BreakOptions& options) {
  return {
      .key = key, .owner = options.owner, .reason = options.reason, .grace_ms = options.grace_ms};
}

// The keys with their partitions, in the order of the keys.
using MatchedKeys = std::map<std::string, std::size_t>;

Result<MatchedKeys> MatchingKeys(const BreakOptions& options, FleetLeaders& leaders,
                                 const Context& context) {
  if (!IsGlob(options)) return MatchedKeys{{options.glob, 0}};
  LockWalk walk(leaders, {.glob = options.glob, .database = context.settings.database_or_first()});
  MatchedKeys keys;
  while (!walk.is_over()) {
    const Result<std::vector<LockRow>> page = walk.NextPage();
    if (!page) return page.failure();
    for (const LockRow& row : *page) keys.emplace(row.key(), walk.partition());
    if (keys.size() > kKeysMax) {
      return Failure{kExitWrongUse, "GLOB must match at most " + std::to_string(kKeysMax) +
                                        " keys, got " + Quoted(options.glob) +
                                        ", which matches more"};
    }
  }
  return keys;
}

// The owner that gets the lock once its holds and reservations have ended; nullopt if unknown.
std::optional<PlaceView> FindNext(Client& client, const std::string& key) {
  const Result<protocol::Reply> places = client.Ask({"QUEUE", key, "COUNT", kPlacesRead});
  if (!places) return std::nullopt;
  std::vector<PlaceView> queue;
  for (const protocol::Reply& place : places->elements) queue.push_back(ReadPlace(place));
  const std::vector<PlaceView> ahead = PlacesAhead(queue, "");
  return ahead.empty() ? std::nullopt : std::optional(ahead.front());
}

Result<std::vector<Target>> FindTargets(const BreakOptions& options, FleetLeaders& leaders,
                                        const Context& context) {
  const Result<MatchedKeys> keys = MatchingKeys(options, leaders, context);
  if (!keys) return keys.failure();
  std::vector<Target> targets;
  for (const auto& [key, partition] : *keys) {
    if (leaders.leader(partition).failure) continue;
    Result<LockView> lock = FetchLock(*leaders.leader(partition).client, key);
    if (!lock) {
      leaders.Fail(partition, lock.failure());
      continue;
    }
    Target target{key, partition, std::move(*lock)};
    RemoveNonTargets(target.lock, ForceReleaseOf(key, options));
    if (target.lock.is_free()) continue;
    if (targets.size() < kKeysShown) target.next = FindNext(*leaders.leader(partition).client, key);
    targets.push_back(std::move(target));
  }
  if (const auto failure = leaders.TotalFailure()) return *failure;
  return targets;
}

Ended CountAll(const std::vector<Target>& targets) {
  Ended all;
  for (const Target& target : targets) all += CountTargets(target.lock);
  return all;
}

std::string Plural(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string DescribeTarget(const Target& target, const Screen& screen) {
  std::string text = screen.Tinted(screen.Printable(target.key), Tint::kHeading) + "\n";
  const LockView& lock = target.lock;
  for (const HolderView& holder : lock.holders) {
    text += "  held by " + screen.Printable(holder.who.owner);
    if (!lock.library.empty()) text += " with " + screen.Printable(lock.library);
    if (lock.library.empty() || holder.held_ms > 0) text += " for " + ShowDuration(holder.held_ms);
    text += ", " + ShowLeaseLeft(holder);
    if (lock.library.empty()) text += ", from " + ShowOrigin(holder.who, screen);
    if (holder.who.key_count > 1) {
      text += "; one of " + std::to_string(holder.who.key_count) +
              " keys that it took as one, each of which ends by itself";
    }
    text += "\n";
  }
  if (lock.cooling_ms > 0) text += "  in cooldown for " + ShowDuration(lock.cooling_ms) + "\n";
  const bool is_reserved = lock.reserved_count > 0;
  if (is_reserved) {
    text += lock.reserved_count == 1
                ? "  reserved for an absent owner, which also loses its place\n"
                : "  reserved for " + std::to_string(lock.reserved_count) +
                      " absent owners, which also lose their places\n";
  }
  // A reserved place ends together with its reservation, so it is not granted the lock.
  const std::int64_t others = lock.waiter_count - lock.reserved_count;
  if (others <= 0) {
    return text + (is_reserved ? "  nobody else waits" : "  nobody waits") + ": it becomes free\n";
  }
  if (!lock.library.empty()) {
    return text + "  " + Plural(static_cast<std::size_t>(others), "waiter") +
           ": the library wakes the first in the queue\n";
  }
  text += "  " + Plural(static_cast<std::size_t>(others), is_reserved ? "other waiter" : "waiter");
  if (!target.next) return text + ": the first in the queue gets it\n";
  const ClaimantView& next = target.next->who;
  text += ": " + screen.Printable(next.owner);
  if (next.key_count == 1) return text + ", the first in the queue, gets it\n";
  return text + ", the first in the queue, gets it only together with the other " +
         (next.key_count == 2 ? "key" : std::to_string(next.key_count - 1) + " keys") +
         " of its request\n";
}

std::string DescribeAll(const std::vector<Target>& targets, const BreakOptions& options,
                        const Screen& screen) {
  std::string text;
  for (std::size_t i = 0; i < targets.size() && i < kKeysShown; ++i) {
    text += DescribeTarget(targets[i], screen);
  }
  if (targets.size() > kKeysShown) {
    text += "... and " + Plural(targets.size() - kKeysShown, "more key") + "\n";
  }
  if (options.grace_ms) {
    return text +
           "The holders are told first. Each has the lock until it releases it, for at most " +
           ShowDuration(*options.grace_ms) + ".\n";
  }
  return text +
         "The holders are not asked first: they keep working until they notice that they have lost "
         "the lock.\n";
}

boost::json::object ObjectOf(const Target& target) {
  boost::json::array holders;
  for (const HolderView& holder : target.lock.holders) {
    boost::json::object object;
    json::AddText(object, "owner", holder.who.owner);
    object["token"] = holder.token;
    object["held_ms"] = holder.held_ms;
    object["ttl_ms"] = holder.ttl_ms ? boost::json::value(*holder.ttl_ms) : nullptr;
    holders.push_back(object);
  }
  boost::json::object object;
  json::AddText(object, "key", target.key);
  object["holders"] = holders;
  object["waiters"] = target.lock.waiter_count;
  object["reserved"] = target.lock.reserved_count;
  object["cooling_ms"] = target.lock.cooling_ms;
  return object;
}

// `ended` is empty for a dry run.
void PrintOutcome(const std::vector<Target>& targets, const std::optional<Ended>& ended,
                  const BreakOptions& options, const FleetLeaders& leaders,
                  const Context& context) {
  boost::json::array found;
  for (const Target& target : targets) found.push_back(ObjectOf(target));
  boost::json::object object = {{"targets", found}, {"is_dry_run", !ended.has_value()}};
  if (options.grace_ms) object["grace_ms"] = *options.grace_ms;
  if (ended && options.grace_ms) {
    object["leaving"] = ended->holds;
  } else if (ended) {
    object["ended"] = boost::json::object{{"holds", ended->holds},
                                          {"reservations", ended->reservations},
                                          {"coolings", ended->coolings}};
  }
  AddFailed(object, leaders);
  context.PrintJson(object);
}

Result<int> BreakAll(const BreakOptions& options, const std::vector<Target>& targets,
                     FleetLeaders& leaders, const Context& context) {
  Ended ended;
  for (const Target& target : targets) {
    if (leaders.leader(target.partition).failure) continue;
    const auto broken = BreakIfUnchanged(ForceReleaseOf(target.key, options), target.lock,
                                         *leaders.leader(target.partition).client);
    if (!broken) {
      leaders.Fail(target.partition, broken.failure());
    } else if (*broken) {
      ended += **broken;
    } else {
      context.Say(context.errors.Quoted(target.key) +
                  " changed hands in the meantime and was left alone");
    }
  }
  if (const auto failure = leaders.TotalFailure()) return *failure;
  if (options.is_json) {
    PrintOutcome(targets, ended, options, leaders, context);
  } else if (options.grace_ms) {
    context.Print(EndedText(ended) + (ended.holds == 1 ? " leaves" : " leave") + " within " +
                  ShowDuration(*options.grace_ms) + ".\n");
  } else {
    context.Print(EndedText(ended) + " ended by force.\n");
  }
  return context.Conclude(leaders, kExitDone);
}

Result<int> Break(const BreakOptions& options, Context& context) {
  if (options.is_json && !options.is_dry && !options.is_yes) {
    return Failure{kExitWrongUse,
                   "--json needs --yes or --dry-run, because it cannot ask for confirmation"};
  }
  // The leader of its partition serves a single key, and the client is redirected to it.
  Result<FleetLeaders> leaders =
      IsGlob(options) ? context.FindLeaders() : FleetLeaders(context.client);
  if (!leaders) return leaders.failure();
  const Result<std::vector<Target>> targets = FindTargets(options, *leaders, context);
  if (!targets) return targets.failure();
  if (targets->empty()) {
    if (options.is_json)
      PrintOutcome({}, options.is_dry ? std::nullopt : std::optional(Ended()), options, *leaders,
                   context);
    context.Say("nothing to end: " + context.errors.Quoted(options.glob) + " is not held" +
                (options.owner ? " by " + context.errors.Quoted(*options.owner) : ""));
    return context.Conclude(*leaders, kExitNo);
  }
  if (options.is_dry && options.is_json) {
    PrintOutcome(*targets, std::nullopt, options, *leaders, context);
    return context.Conclude(*leaders, kExitDone);
  }
  if (options.is_dry || !options.is_yes) {
    context.Print(DescribeAll(*targets, options, context.out));
  }
  if (options.is_dry) {
    context.Print("Nothing was done: this was a dry run.\n");
    return context.Conclude(*leaders, kExitDone);
  }
  if (!options.is_yes) {
    const Result<bool> is_sure = Confirm(
        context, "End " + EndedText(CountAll(*targets)) + " on " + Plural(targets->size(), "key") +
                     " by force" +
                     (options.grace_ms ? " within " + ShowDuration(*options.grace_ms) : "") + "?");
    if (!is_sure) return is_sure.failure();
    if (!*is_sure) return kExitNo;
  }
  return BreakAll(options, *targets, *leaders, context);
}

Action DescribeBreak(Arguments& arguments) {
  auto options = std::make_shared<BreakOptions>();
  arguments.Required("KEY|GLOB", options->glob, "Name of the lock, or a glob with * ? [a-z]");
  arguments.Text("--owner,-o", options->owner, "End only the holds of this owner");
  arguments.Lease("--grace", options->grace_ms,
                  "Tell the holders, and end their holds by force only after this time");
  arguments.Text("--reason", options->reason, "Reason, stored in the history");
  arguments.Flag("--exact", options->is_exact, "Take the name literally, not as a glob");
  arguments.Flag("--dry-run", options->is_dry, "Only show what would happen");
  arguments.Flag("--yes,-y", options->is_yes, "Do not ask for confirmation");
  arguments.Flag("--json", options->is_json,
                 "Print JSON: the locks found and what ended; needs --yes or --dry-run");
  return [options](Context& context) { return Break(*options, context); };
}

constexpr auto kBreakCommands = std::to_array<CommandRow>({
    {"break", kControlling, "Ends holds by force; the next waiters get the locks", DescribeBreak},
});

}  // namespace

std::span<const CommandRow> BreakCommands() { return kBreakCommands; }

}  // namespace fairlock::cli
