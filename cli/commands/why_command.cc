// `why`: explains the state of one key in sentences.
#include <array>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/connection/reply_fields.h"
#include "cli/output/duration.h"
#include "cli/views/claim_tables.h"
#include "cli/views/history.h"
#include "cli/views/server_locks.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kEventsShown = 8;
constexpr std::size_t kHoldersShown = 5;
constexpr std::int64_t kPlacesAround = 1000;

struct WhyOptions {
  std::string key;
  std::optional<std::string> owner;
  bool is_json = false;
};

struct Findings {
  protocol::Reply info;  // the reply to LOCKINFO
  LockView lock;
  std::optional<std::int64_t> position;  // 0 if the owner holds the lock
  std::optional<protocol::Reply> place;
  // For the owner's request, the first in the queue, or a request that arrives now.
  WaitChain chain;
  std::string chain_refusal;  // why it may be incomplete
  HistoryPage past;
  std::string history_refusal;  // why there is no history
};

// Returns the owner's place, unless the queue has moved on since `position` was read.
Result<std::optional<protocol::Reply>> FindPlace(const WhyOptions& options, std::int64_t position,
                                                 Client& client) {
  const std::int64_t start = std::max<std::int64_t>(position - kPlacesAround / 2, 0);
  const Result<protocol::Reply> places =
      client.Ask({"QUEUE", options.key, "START", std::to_string(start), "COUNT",
                  std::to_string(kPlacesAround)});
  if (!places) return places.failure();
  for (const protocol::Reply& place : places->elements) {
    if (TextField(place, "owner") == *options.owner) return std::optional(place);
  }
  return std::optional<protocol::Reply>();
}

void FollowChain(const WhyOptions& options, Findings& findings, Context& context) {
  ServerLocks locks(context.client, context.settings, context.login,
                    context.settings.database_or_first());
  const WaitingRequest request = findings.place
                                     ? RequestAt(ReadPlace(*findings.place), options.key, locks)
                                     : FirstRequest(options.key, locks);
  findings.chain = FindChain(request, locks);
  if (locks.failure()) findings.chain_refusal = locks.failure()->text;
}

Result<Findings> Investigate(const WhyOptions& options, Context& context) {
  Findings findings;
  Result<protocol::Reply> info = context.client.Ask({"LOCKINFO", options.key});
  if (!info) return info.failure();
  findings.lock = ReadLock(*info);
  findings.info = std::move(*info);
  if (options.owner) {
    const Result<protocol::Reply> position =
        context.client.Ask({"POSITION", options.key, *options.owner});
    if (!position) return position.failure();
    if (!position->IsNull()) findings.position = position->integer;
  }
  if (findings.position.value_or(0) > 0) {
    auto place = FindPlace(options, *findings.position, context.client);
    if (!place) return place.failure();
    findings.place = std::move(*place);
  }
  FollowChain(options, findings, context);
  // A server without a history refuses this request; the rest of the answer is still useful.
  Result<HistoryPage> past = FetchHistory(
      context.client, {.key = options.key, .owner = options.owner, .count = kEventsShown});
  if (!past && past.failure().exit_code == kExitUnreachable) return past.failure();
  if (past) findings.past = std::move(*past);
  if (!past) findings.history_refusal = past.failure().text;
  return findings;
}

// Why a new request would not be granted at once; empty if it would.
std::string_view ReasonOf(const Findings& findings) {
  const LockView& lock = findings.lock;
  if (lock.override_limit == 0) return IsStarting(findings.chain) ? "starting" : "drained";
  if (!lock.holders.empty()) return "held";
  if (lock.is_other_value()) return "value";
  if (lock.reserved_count > 0) return "reserved";
  if (lock.cooling_ms > 0) return "cooling";
  return lock.waiter_count > 0 ? "line" : "";
}

std::string HoldersSentences(const LockView& lock, const Screen& screen) {
  std::string text;
  for (std::size_t i = 0; i < lock.holders.size() && i < kHoldersShown; ++i) {
    const HolderView& holder = lock.holders[i];
    const bool is_own = lock.library.empty();
    text += "It is held by " + screen.Tinted(screen.Printable(holder.who.owner), Tint::kHeading);
    if (!is_own) text += " with " + screen.Printable(lock.library);
    if (is_own || holder.held_ms > 0) {
      text += " since " + ShowMoment(holder.who.since_unix_ms) + " (" +
              ShowDuration(holder.held_ms) + ")";
    }
    if (is_own) text += ", from " + ShowOrigin(holder.who, screen);
    text += ", " + ShowLeaseLeft(holder);
    if (holder.token != 0) text += ", token " + std::to_string(holder.token);
    if (!holder.who.meta.empty()) text += ", note " + screen.Quoted(holder.who.meta);
    text += ".\n";
  }
  if (lock.holders.size() > kHoldersShown) {
    text += "... and by " + std::to_string(lock.holders.size() - kHoldersShown) + " others.\n";
  }
  return text;
}

std::string StateSentences(const Findings& findings, const Screen& screen) {
  const LockView& lock = findings.lock;
  const std::string_view reason = ReasonOf(findings);
  std::string text;
  if (reason == "starting") {
    text +=
        "The server started a short time ago: nobody gets it while leases that were granted "
        "before may still be running (`start_delay`).\n";
  } else if (reason == "drained") {
    text +=
        "An operator has drained it: no new owner gets it until the drain ends "
        "(`fairlockctl limit list` says who drained it and why).\n";
  }
  text += HoldersSentences(lock, screen);
  if (lock.is_other_value()) {
    text += "It is not free: it has a " + screen.Printable(lock.type) +
            ", which is no lock of a library that fairlock knows. LOCK fails with WRONGTYPE until "
            "it is deleted.\n";
  }
  if (lock.reserved_count > 0) {
    text += "It is reserved for the first waiter, which is absent and may come back.\n";
  }
  if (lock.cooling_ms > 0) {
    text +=
        "It was released before its minimum hold time was over, and is in cooldown for another " +
        ShowDuration(lock.cooling_ms) + ".\n";
  }
  if (reason == "line") text += "Nobody holds it, but a new request must wait in the queue.\n";
  if (reason.empty()) text += "It is free, and nobody is waiting: a new request gets it at once.\n";
  if (lock.waiter_count > 0) {
    text += std::to_string(lock.waiter_count) +
            (lock.waiter_count == 1 ? " waiter is" : " waiters are") + " in the queue.\n";
  }
  return text;
}

// The expected time until the owner's turn, from the mean of recent holds; nullopt if unknown.
std::optional<DurationMs> ExpectedWait(const Findings& findings) {
  if (findings.position.value_or(0) == 0 || !findings.lock.hold_mean_ms) return std::nullopt;
  return *findings.position * *findings.lock.hold_mean_ms /
         std::max<std::int64_t>(findings.lock.limit, 1);
}

// Describes an absent owner's place: whether its turn has come, and how long the place is kept.
std::string AbsenceText(const PlaceView& place) {
  const std::string left = place.keep_ms ? " for another " + ShowDuration(*place.keep_ms) : "";
  if (place.state == "reserved")
    return "; its turn has come: it is absent, and a slot is reserved for it" + left;
  if (place.state == "absent") return "; it is absent, and its place is kept" + left;
  return "";
}

std::string OwnerSentence(const WhyOptions& options, const Findings& findings,
                          const Screen& screen) {
  if (!options.owner) return "";
  const std::string owner = screen.Tinted(screen.Printable(*options.owner), Tint::kHeading);
  if (!findings.position) return owner + " neither holds it nor waits for it.\n";
  if (*findings.position == 0) return owner + " holds it.\n";
  std::string text = owner + " has place " + std::to_string(*findings.position) + " of " +
                     std::to_string(findings.lock.waiter_count);
  bool has_turn = false;
  if (findings.place) {
    const PlaceView place = ReadPlace(*findings.place);
    text += " and has waited for " + ShowDuration(place.waited_ms) + ", from " +
            ShowOrigin(place.who, screen);
    text += AbsenceText(place);
    has_turn = place.state == "reserved";
  }
  const auto expected = ExpectedWait(findings);
  if (expected && !has_turn) {
    text += "; judging by recent holds of " + ShowDuration(*findings.lock.hold_mean_ms) +
            ", its turn comes in about " + ShowDuration(*expected);
  }
  return text + ".\n";
}

std::string ChainSentences(const Findings& findings, const Screen& screen) {
  std::string text;
  if (findings.place || LeadsOn(findings.chain)) {
    text = ChainText(findings.chain, screen);
  }
  if (!findings.chain_refusal.empty()) {
    text += "The chain may be incomplete: " + findings.chain_refusal + "\n";
  }
  return text.empty() ? "" : "\n" + text;
}

std::string HistorySentences(const Findings& findings, const Screen& screen) {
  if (!findings.history_refusal.empty()) return "\n" + findings.history_refusal + "\n";
  const HistoryPage& past = findings.past;
  std::string text = past.events.empty() ? "" : "\n" + HistoryText(past.events, false, screen);
  const bool is_all = !past.next_before && !past.next_until;
  if (!is_all || !HasForgotten(past)) return text;
  std::string known = ShowKnownSince(past);
  known.front() = 'N';
  return text + "\n" + known + ".\n";
}

boost::json::object ObjectOf(const WhyOptions& options, const Findings& findings) {
  boost::json::object object;
  json::AddText(object, "key", options.key);
  const std::string_view reason = ReasonOf(findings);
  object["reason"] = reason.empty() ? boost::json::value(nullptr) : boost::json::value(reason);
  object["lock"] = json::ObjectOf(findings.info);
  if (options.owner) {
    json::AddText(object, "owner", *options.owner);
    object["position"] = findings.position ? boost::json::value(*findings.position) : nullptr;
    const auto expected = ExpectedWait(findings);
    object["eta_ms"] = expected ? boost::json::value(*expected) : nullptr;
    object["place"] = findings.place ? boost::json::value(json::ObjectOf(*findings.place))
                                     : boost::json::value(nullptr);
  }
  object["chain"] = ChainArray(findings.chain);
  boost::json::object past = ObjectOf(findings.past);
  object["events"] = past["events"];
  for (const std::string_view name : {"complete_since", "rare_since", "denied_since"}) {
    object[name] = past[name];
  }
  return object;
}

Result<int> ShowWhy(const WhyOptions& options, Context& context) {
  const Result<Findings> findings = Investigate(options, context);
  if (!findings) return findings.failure();
  if (options.is_json) {
    context.PrintJson(ObjectOf(options, *findings));
    return kExitDone;
  }
  context.Print(StateSentences(*findings, context.out) +
                OwnerSentence(options, *findings, context.out) +
                ChainSentences(*findings, context.out) + HistorySentences(*findings, context.out));
  return kExitDone;
}

Action DescribeWhy(Arguments& arguments) {
  auto options = std::make_shared<WhyOptions>();
  arguments.Required("KEY", options->key, "Name of the lock");
  arguments.Optional("OWNER", options->owner, "An owner that waits for the lock");
  arguments.Flag("--json", options->is_json, "Print JSON");
  return [options](Context& context) { return ShowWhy(*options, context); };
}

constexpr auto kWhyCommands = std::to_array<CommandRow>({
    {"why", kInspecting,
     "Explains who holds a lock, what an owner waits for, and the latest events", DescribeWhy},
});

}  // namespace

std::span<const CommandRow> WhyCommands() { return kWhyCommands; }

}  // namespace fairlock::cli
