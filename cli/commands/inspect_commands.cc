// `show` and `queue`: the holders and the waiters of one key.
#include <algorithm>
#include <array>
#include <memory>

#include "cli/commands/all_commands.h"
#include "cli/output/duration.h"
#include "cli/views/claim_tables.h"
#include "cli/views/server_locks.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kPlacesDefault = 100;
constexpr std::int64_t kPlacesMax = 1'000'000;
constexpr std::int64_t kPlacesAPage = 1000;

struct ShowOptions {
  std::string key;
  std::optional<std::int64_t> places;
  bool is_json = false;
};

// Returns the replies unparsed: their fields become the JSON.
Result<std::vector<protocol::Reply>> FetchPlaces(Client& client, const std::string& key,
                                                 std::int64_t count) {
  std::vector<protocol::Reply> places;
  while (static_cast<std::int64_t>(places.size()) < count) {
    const std::int64_t wanted =
        std::min(count - static_cast<std::int64_t>(places.size()), kPlacesAPage);
    Result<protocol::Reply> page = client.Ask(
        {"QUEUE", key, "START", std::to_string(places.size()), "COUNT", std::to_string(wanted)});
    if (!page) return page.failure();
    const bool is_last = static_cast<std::int64_t>(page->elements.size()) < wanted;
    std::ranges::move(page->elements, std::back_inserter(places));
    if (is_last) break;
  }
  return places;
}

std::vector<PlaceView> ReadPlaces(const std::vector<protocol::Reply>& maps) {
  std::vector<PlaceView> places;
  for (const protocol::Reply& map : maps) places.push_back(ReadPlace(map));
  return places;
}

boost::json::array QueueArray(const std::vector<protocol::Reply>& places) {
  boost::json::array array;
  for (const protocol::Reply& place : places) array.push_back(json::ObjectOf(place));
  return array;
}

// What blocks the first in the queue, or a new request.
WaitChain FollowChain(const std::string& key, Context& context) {
  ServerLocks locks(context.client, context.settings, context.login,
                    context.settings.database_or_first());
  return FindChain(FirstRequest(key, locks), locks);
}

std::string OverrideText(std::int64_t limit, const WaitChain& chain) {
  if (IsStarting(chain)) return "; the server has just started: nobody gets it yet";
  return limit == 0 ? "; drained by an operator: no new owner gets it (`limit list`)"
                    : "; an operator has set LIMIT " + std::to_string(limit);
}

std::string Headline(const LockView& lock, const WaitChain& chain, const ShowOptions& options,
                     const Context& context) {
  const Screen& screen = context.out;
  std::string text = screen.Tinted(screen.Printable(options.key), Tint::kHeading) + ", database " +
                     std::to_string(context.settings.database_or_first()) + ": ";
  if (!lock.holders.empty()) {
    text += lock.mode + ", held by " + std::to_string(lock.holders.size());
    if (lock.limit > 1) text += " of " + std::to_string(lock.limit);
  } else if (lock.is_other_value()) {
    text += "a " + screen.Printable(lock.type) + ", no lock of a library that fairlock knows";
  } else {
    text += lock.is_free() && lock.waiter_count == 0 ? "free" : "held by nobody";
  }
  if (lock.reserved_count > 0) text += ", " + std::to_string(lock.reserved_count) + " reserved";
  if (lock.cooling_ms > 0) text += ", in cooldown for " + ShowDuration(lock.cooling_ms);
  text += ", " + std::to_string(lock.waiter_count) + " waiting";
  if (lock.override_limit) text += OverrideText(*lock.override_limit, chain);
  if (lock.hold_mean_ms) text += "; recent holds: " + ShowDuration(*lock.hold_mean_ms);
  if (lock.wait_mean_ms) text += ", recent waits: " + ShowDuration(*lock.wait_mean_ms);
  return text + "\n";
}

std::string PlacesText(const std::vector<protocol::Reply>& places, std::int64_t waiter_count,
                       const Screen& screen) {
  if (places.empty()) return "";
  std::string text = PlacesTable(ReadPlaces(places), screen);
  const std::int64_t more = waiter_count - static_cast<std::int64_t>(places.size());
  if (more > 0) text += "... and " + std::to_string(more) + " more; --places N shows them\n";
  return text;
}

Result<int> Show(const ShowOptions& options, Context& context) {
  const Result<protocol::Reply> info = context.client.Ask({"LOCKINFO", options.key});
  if (!info) return info.failure();
  const auto places =
      FetchPlaces(context.client, options.key, options.places.value_or(kPlacesDefault));
  if (!places) return places.failure();
  const WaitChain chain = FollowChain(options.key, context);
  if (options.is_json) {
    boost::json::object object;
    json::AddText(object, "key", options.key);
    object["db"] = context.settings.database_or_first();
    for (const auto& field : json::ObjectOf(*info)) object.insert(field);
    object["queue"] = QueueArray(*places);
    object["chain"] = ChainArray(chain);
    context.PrintJson(object);
    return kExitDone;
  }
  const LockView lock = ReadLock(*info);
  std::string text = Headline(lock, chain, options, context);
  if (!lock.holders.empty()) text += "\n" + HoldersTable(lock.holders, context.out);
  if (!places->empty()) text += "\n" + PlacesText(*places, lock.waiter_count, context.out);
  // Most often, the tables say everything already.
  if (LeadsOn(chain)) text += "\n" + ChainText(chain, context.out);
  context.Print(text);
  return kExitDone;
}

Result<int> ShowQueue(const ShowOptions& options, Context& context) {
  const auto places =
      FetchPlaces(context.client, options.key, options.places.value_or(kPlacesDefault));
  if (!places) return places.failure();
  if (options.is_json) {
    context.PrintJson(boost::json::object{{"queue", QueueArray(*places)}});
  } else if (places->empty()) {
    context.Print("Nobody waits for " + context.out.Printable(options.key) + ".\n");
  } else {
    const Result<LockView> lock = FetchLock(context.client, options.key);
    if (!lock) return lock.failure();
    context.Print(PlacesText(*places, lock->waiter_count, context.out));
  }
  return kExitDone;
}

Action Describe(Arguments& arguments, Result<int> (*run)(const ShowOptions&, Context&)) {
  auto options = std::make_shared<ShowOptions>();
  arguments.Required("KEY", options->key, "Name of the lock");
  arguments.Number("--places,-n", options->places, {1, kPlacesMax},
                   "Maximum number of places in the queue (100)");
  arguments.Flag("--json", options->is_json, "Print JSON");
  return [options, run](Context& context) { return run(*options, context); };
}

constexpr auto kInspectCommands = std::to_array<CommandRow>({
    {"show", kInspecting, "Shows a lock: its holders, their leases, and its queue",
     [](Arguments& arguments) { return Describe(arguments, Show); }},
    {"queue", kInspecting, "Lists the queue of a lock",
     [](Arguments& arguments) { return Describe(arguments, ShowQueue); }},
});

}  // namespace

std::span<const CommandRow> InspectCommands() { return kInspectCommands; }

}  // namespace fairlock::cli
