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
#include "server/command/locks/event_names.h"
#include "server/command/locks/lock_message.h"
#include "server/command/table/duration_text.h"
#include "server/command/table/text.h"
#include "server/http/answers.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/route.h"
#include "server/http/schema.h"

namespace fairlock::http {

namespace {

constexpr std::int64_t kEventsMax = 500;
constexpr std::size_t kGlobBytesMax = 1024;

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
  object["source"] = record::SourceName(event);
  return object;
}

// Nullopt if the parameter is not given, or is no time.
std::optional<engine::TimeMs> TimeOf(const RouteCall& call, std::string_view name) {
  const std::string* text = call.inputs.Find(name);
  if (text == nullptr) return std::nullopt;
  const std::int64_t unix_now_ms = call.commands.server().unix_time.MsOf(call.now, call.now);
  return command::ParseMoment(*text, call.now, unix_now_ms);
}

record::HistoryQuery QueryOf(const RouteCall& call) {
  record::HistoryQuery query{.since = TimeOf(call, "since").value_or(record::kLongAgo),
                             .until = TimeOf(call, "until").value_or(engine::kNever)};
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
    if (query_.key) EndWhatIsDue(now);
    const record::History& history = *commands_.server().recorder.history();
    record::HistoryPage page = history.Search(query_);
    const record::KnownSince known = history.known_since();
    AddLiveEvents(page, known, now);
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
                         {"next_before", NullIfZero(page.next_before.value_or(0))},
                         {"complete_since", server.unix_time.MsOf(known.all(), now)},
                         {"rare_since", server.unix_time.MsOf(known.rare, now)},
                         {"denied_since", server.unix_time.MsOf(known.denied, now)}}}});
  }

 private:
  // Later, it would change what the page refers to.
  void EndWhatIsDue(engine::TimeMs now) {
    command::ServerParts& server = commands_.server();
    server.locks.engine().inspection().CountHolders(*query_.key, server.locks.StepAt(now));
    if (server.delivery.has_effects()) server.delivery.Deliver(now);
  }
  void AddLiveEvents(record::HistoryPage& page, const record::KnownSince& known,
                     engine::TimeMs now) {
    command::Locks& locks = commands_.server().locks;
    command::AddLiveEvents(locks.engine(), query_, known, locks.StepAt(now), page);
  }

  CommandCaller& commands_;
  record::HistoryQuery query_;  // its views refer to the strings below
  const std::string match_;
  std::string key_;
  std::string owner_;
  boost::json::array events_;
  int steps_ = 0;
};

std::optional<Answer> RefuseSearch(const RouteCall& call) {
  const Inputs& inputs = call.inputs;
  if (auto refusal = RefuseCount(inputs, kEventsMax)) return refusal;
  if (inputs.Number("before", 0) < 0) {
    return Refusal(400, "ERR", "before must be the next_before of the previous page, or 0");
  }
  for (const std::string_view name : {"since", "until"}) {
    if (inputs.Find(name) == nullptr || TimeOf(call, name)) continue;
    return Refusal(400, "ERR",
                   std::string(name) + " is " + command::Quoted(inputs.Text(name), 64) +
                       "; it must be " + command::MomentForms());
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
  if (auto refusal = RefuseSearch(call)) return *std::move(refusal);
  record::EventKinds kinds = record::EventKinds::All();
  if (const std::string* names = call.inputs.Find("event"); names && !names->empty()) {
    const std::optional<record::EventKinds> named = command::EventKindsIn(*names);
    if (!named) {
      return Refusal(400, "ERR",
                     "event is " + command::Quoted(*names, 64) +
                         "; allowed values, separated by commas: " + command::AllEventNames());
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

constexpr std::string_view kTimeForms =
    "Unix time in milliseconds, or how long ago, such as 90s or 2h";

constexpr auto kHistoryParameters = std::to_array<Parameter>({
    {"db", ValueType::kDatabases, false, "", "The database, 0 if not given; * for all"},
    {"key", ValueType::kText, false, "", "Only this key; otherwise all keys of the database"},
    {"match", ValueType::kText, false, "", "Only keys that match this glob; not with key"},
    {"event", ValueType::kText, false, "", "Only these events, as in expired,broken"},
    {"owner", ValueType::kText, false, "", "Only this owner"},
    {"since", ValueType::kText, false, "", kTimeForms},
    {"until", ValueType::kText, false, "", kTimeForms},
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
