// The history of locks.

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "json/reply_json.h"
#include "server/command/locks/lock_message.h"
#include "server/command/table/text.h"
#include "server/http/answers.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/route.h"
#include "server/http/schema.h"
#include "server/http/text_parts.h"

namespace fairlock::http {

namespace {

constexpr std::int64_t kEventsMax = 500;
constexpr std::size_t kGlobBytesMax = 1024;

constexpr auto kAllKinds = std::to_array<engine::EventKind>({
    engine::EventKind::kGranted,
    engine::EventKind::kReacquired,
    engine::EventKind::kDenied,
    engine::EventKind::kQueued,
    engine::EventKind::kReleased,
    engine::EventKind::kExpired,
    engine::EventKind::kDisconnected,
    engine::EventKind::kRenewed,
    engine::EventKind::kBroken,
    engine::EventKind::kTransferred,
    engine::EventKind::kUndone,
    engine::EventKind::kCancelled,
    engine::EventKind::kReplaced,
    engine::EventKind::kTimedOut,
    engine::EventKind::kLapsed,
    engine::EventKind::kVacated,
    engine::EventKind::kRefused,
    engine::EventKind::kLeaving,
});

boost::json::value NullIfZero(std::uint64_t number) {
  return number == 0 ? boost::json::value() : boost::json::value(number);
}

void AddTextOrNull(boost::json::object& object, std::string_view name, std::string_view text) {
  if (text.empty()) {
    object[name] = nullptr;
  } else {
    json::AddText(object, name, text);
  }
}

// Has the same fields as an event in HISTORY.
boost::json::object EventOf(const record::PastEvent& event, const command::ServerParts& server,
                            engine::TimeMs now) {
  boost::json::object object;
  object["at"] = server.unix_time.MsOf(event.at, now);
  object["event"] = command::EventName(event.kind);
  json::AddText(object, "key", event.key.bytes);
  AddTextOrNull(object, "owner", event.owner);
  object["token"] = NullIfZero(event.token);
  AddTextOrNull(object, "reason", command::EventReason(event.kind, event.reason));
  AddTextOrNull(object, "holder", event.other);
  object["holder_token"] = NullIfZero(event.other_token);
  object["waited_ms"] = event.waited_ms;
  object["held_ms"] = event.held_ms;
  object["count"] = event.count;
  object["last_at"] = server.unix_time.MsOf(event.last_at, now);
  AddTextOrNull(object, "by", event.by);
  AddTextOrNull(object, "comment", event.comment);
  object["db"] = event.key.db;
  object["grace_ms"] = event.grace_ms;
  return object;
}

engine::TimeMs TimeOf(const RouteCall& call, std::string_view name, engine::TimeMs otherwise) {
  if (call.inputs.Find(name) == nullptr) return otherwise;
  const std::int64_t unix_ms = std::min(call.inputs.Number(name, 0), engine::kForever);
  const std::int64_t unix_now_ms = call.commands.server().unix_time.MsOf(call.now, call.now);
  return std::clamp<engine::TimeMs>(call.now - unix_now_ms + unix_ms, 0, engine::kNever);
}

record::HistoryQuery QueryOf(const RouteCall& call) {
  record::HistoryQuery query{.since = TimeOf(call, "since", 0),
                             .until = TimeOf(call, "until", engine::kNever)};
  if (call.inputs.AreAllDatabases()) {
    query.db.reset();
  } else {
    query.db = call.inputs.Database();
  }
  query.count_max = static_cast<std::size_t>(call.inputs.Number("count", kRowsDefault));
  // `before` lets clients read page by page even if one millisecond has thousands of events.
  query.before = static_cast<std::uint64_t>(call.inputs.Number("before", 0));
  return query;
}

// Returns the event kinds in a list such as "expired,broken"; nullopt if a name is unknown.
std::optional<record::EventKinds> KindsOf(std::string_view names) {
  record::EventKinds kinds({});
  while (!names.empty()) {
    const std::string_view name = TakeUpTo(names, ",");
    bool is_known = false;
    for (const engine::EventKind kind : kAllKinds) {
      if (command::EventName(kind) != name) continue;
      kinds.Add(kind);
      is_known = true;
    }
    if (!is_known) return std::nullopt;
  }
  return kinds;
}

std::string KindNames() {
  std::string names;
  for (const engine::EventKind kind : kAllKinds) {
    const std::string_view name = command::EventName(kind);
    if (names.find(name) != std::string::npos) continue;
    names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

// Searches a bounded part of the history in each turn, so that a filter that matches few events
// does not delay other clients.
class HistorySearch final : public Job {
 public:
  static constexpr std::size_t kLooksPerStep = 1000;
  static constexpr int kStepsMax = 50;

  HistorySearch(const RouteCall& call, record::EventKinds kinds)
      : commands_(call.commands), match_(call.inputs.Text("match")) {
    query_ = QueryOf(call);
    query_.kinds = kinds;
    query_.match = match_;
    query_.looks_max = kLooksPerStep;
    if (const std::string* key = call.inputs.Find("key")) {
      key_ = *key;
      engine::KeyName name{.db = *query_.db, .bytes = key_};
      name.hash = commands_.server().locks.engine().Prefetch(name);
      query_.key = name;
    }
    if (const std::string* owner = call.inputs.Find("owner")) {
      owner_ = *owner;
      query_.owner = owner_;
    }
  }

  std::optional<Answer> Step(engine::TimeMs now) override {
    const command::ServerParts& server = commands_.server();
    const record::History& history = *commands_.server().recorder.history();
    const record::HistoryPage page = history.Search(query_);
    for (const record::PastEvent& event : page.events) {
      events_.push_back(EventOf(event, server, now));
    }
    query_.count_max -= page.events.size();
    query_.before = page.next_before.value_or(0);
    const bool is_over = !page.next_before || query_.count_max == 0 || ++steps_ == kStepsMax;
    if (!is_over) return std::nullopt;
    const auto unix_or_null = [&](const std::optional<engine::TimeMs>& at) {
      return at ? boost::json::value(server.unix_time.MsOf(*at, now)) : boost::json::value();
    };
    return JsonAnswer({{"history",
                        {{"oldest", unix_or_null(history.oldest_at())},
                         {"next_until", unix_or_null(page.next_until)},
                         {"events", std::move(events_)},
                         {"next_before", NullIfZero(page.next_before.value_or(0))}}}});
  }

 private:
  CommandCaller& commands_;
  record::HistoryQuery query_;  // its views refer to the strings below
  const std::string match_;
  std::string key_;
  std::string owner_;
  boost::json::array events_;
  int steps_ = 0;
};

std::optional<Answer> RefuseSearch(const Inputs& inputs) {
  if (auto refusal = RefuseCount(inputs, kEventsMax)) return refusal;
  if (inputs.Number("before", 0) < 0) {
    return Refusal(400, "ERR", "before must be the next_before of the previous page, or 0");
  }
  if (inputs.Number("since", 0) < 0 || inputs.Number("until", 0) < 0) {
    return Refusal(400, "ERR", "since and until must be Unix times in milliseconds");
  }
  if (inputs.Find("key") != nullptr && (inputs.Find("match") || inputs.AreAllDatabases())) {
    return Refusal(400, "ERR", "key names one key of one database: give neither match nor db=*");
  }
  if (inputs.Text("match").size() > kGlobBytesMax) {
    return Refusal(400, "ERR",
                   "match has " + std::to_string(inputs.Text("match").size()) + " bytes; up to " +
                       std::to_string(kGlobBytesMax) + " are allowed");
  }
  return std::nullopt;
}

Outcome ShowHistory(const RouteCall& call) {
  if (auto refusal = RefuseSearch(call.inputs)) return *std::move(refusal);
  record::EventKinds kinds = record::EventKinds::All();
  if (const std::string* names = call.inputs.Find("event"); names && !names->empty()) {
    const std::optional<record::EventKinds> named = KindsOf(*names);
    if (!named) {
      return Refusal(400, "ERR",
                     "event is " + command::Quoted(*names, 64) +
                         "; allowed values, separated by commas: " + KindNames());
    }
    kinds = *named;
  }
  if (!call.inputs.AreAllDatabases()) call.commands.SelectDatabase(call.inputs.Database());
  const std::string* key = call.inputs.Find("key");
  // This call only checks the query and expires what is overdue: with UNTIL 0 it finds no events.
  const protocol::Reply none =
      call.commands.Call({"HISTORY", key == nullptr ? "*" : *key, "UNTIL", "0"}, call.now);
  if (none.IsError()) return RefusalOf(none);
  return std::make_unique<HistorySearch>(call, kinds);
}

constexpr auto kHistoryParameters = std::to_array<Parameter>({
    {"db", ValueType::kDatabases, false, "", "The database, 0 if not given; * for all"},
    {"key", ValueType::kText, false, "", "Only this key; otherwise all keys of the database"},
    {"match", ValueType::kText, false, "", "Only keys that match this glob; not with key"},
    {"event", ValueType::kText, false, "", "Only these events, as in expired,broken"},
    {"owner", ValueType::kText, false, "", "Only this owner"},
    {"since", ValueType::kNumber, false, "", "Unix time in milliseconds"},
    {"until", ValueType::kNumber, false, "", "Unix time in milliseconds"},
    {"count", ValueType::kNumber, false, "", "How many events; 100 if not given, 500 at most"},
    {"before", ValueType::kNumber, false, "",
     "next_before of the previous page; 0 for the first page"},
});

// Requests with an Upgrade header do not come here, because the connection handles them itself.
Outcome AskForUpgrade(const RouteCall&) {
  return Refusal(426, "ERR", "this is a WebSocket: the Upgrade: websocket header is missing");
}

constexpr auto kEventParameters = std::to_array<Parameter>({
    {"match", ValueType::kText, false, "",
     "Only keys that match this glob; otherwise all keys of all databases"},
});

constexpr auto kHistoryRoutes = std::to_array<Route>({
    {Verb::kGet, "/api/v1/history", Access::kRead, ShowHistory, "showHistory",
     "Past events, newest first", kHistoryParameters, &kHistorySchema},
    {Verb::kGet, "/api/v1/events", Access::kRead, AskForUpgrade, "watchEvents",
     "A WebSocket that sends events as they happen, each message a JSON array of events",
     kEventParameters, nullptr, kWithoutLocks, kIsWebSocket},
});

}  // namespace

std::span<const Route> HistoryRoutes() { return kHistoryRoutes; }

}  // namespace fairlock::http
