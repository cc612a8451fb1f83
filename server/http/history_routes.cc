// What happened to locks.

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "json/reply_json.h"
#include "server/command/lock_message.h"
#include "server/http/answers.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/route.h"
#include "server/http/schema.h"

namespace fairlock::http {

namespace {

constexpr std::int64_t kEventsMax = 500;

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

// As HISTORY has it.
boost::json::object EventOf(const record::PastEvent& event, const command::Dispatcher& dispatcher,
                            engine::TimeMs now) {
  boost::json::object object;
  object["at"] = dispatcher.UnixMs(event.at, now);
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
  object["last_at"] = dispatcher.UnixMs(event.last_at, now);
  AddTextOrNull(object, "by", event.by);
  AddTextOrNull(object, "comment", event.comment);
  object["db"] = event.key.db;
  return object;
}

engine::TimeMs TimeOf(const RouteCall& call, std::string_view name, engine::TimeMs otherwise) {
  if (call.inputs.Find(name) == nullptr) return otherwise;
  const std::int64_t unix_ms = std::min(call.inputs.Number(name, 0), engine::kForever);
  const std::int64_t unix_now_ms = call.commands.dispatcher().UnixMs(call.now, call.now);
  return std::clamp<engine::TimeMs>(call.now - unix_now_ms + unix_ms, 0, engine::kNever);
}

record::HistoryQuery QueryOf(const RouteCall& call) {
  record::HistoryQuery query{.db = call.inputs.Database(),
                             .since = TimeOf(call, "since", 0),
                             .until = TimeOf(call, "until", engine::kNever)};
  if (const std::string* key = call.inputs.Find("key")) {
    engine::KeyName name{.db = query.db, .bytes = *key};
    name.hash = call.commands.dispatcher().engine().Prefetch(name);
    query.key = name;
  }
  if (const std::string* owner = call.inputs.Find("owner")) query.owner = *owner;
  query.count_max = static_cast<std::size_t>(call.inputs.Number("count", kRowsDefault));
  // With it also the events of one millisecond, of which thousands may be, come page by page.
  query.before = static_cast<std::uint64_t>(call.inputs.Number("before", 0));
  return query;
}

Answer AnswerWithEvents(const RouteCall& call, const record::History& history) {
  const command::Dispatcher& dispatcher = call.commands.dispatcher();
  const record::HistoryPage page = history.Search(QueryOf(call));
  boost::json::array events;
  for (const record::PastEvent& event : page.events) {
    events.push_back(EventOf(event, dispatcher, call.now));
  }
  const auto unix_or_null = [&](const std::optional<engine::TimeMs>& at) {
    return at ? boost::json::value(dispatcher.UnixMs(*at, call.now)) : boost::json::value();
  };
  return JsonAnswer({{"history",
                      {{"oldest", unix_or_null(history.oldest_at())},
                       {"next_until", unix_or_null(page.next_until)},
                       {"events", std::move(events)},
                       {"next_before", NullIfZero(page.next_before.value_or(0))}}}});
}

Outcome ShowHistory(const RouteCall& call) {
  if (auto refusal = RefuseCount(call.inputs, kEventsMax)) return *std::move(refusal);
  if (call.inputs.Number("before", 0) < 0) {
    return Refusal(400, "ERR", "before is next_before of the page before, or 0");
  }
  if (call.inputs.Number("since", 0) < 0 || call.inputs.Number("until", 0) < 0) {
    return Refusal(400, "ERR", "since and until are Unix times in milliseconds");
  }
  call.commands.SelectDatabase(call.inputs.Database());
  const std::string* key = call.inputs.Find("key");
  // The command refuses what cannot be, and ends what is overdue; of no event it tells here.
  const protocol::Reply none =
      call.commands.Call({"HISTORY", key == nullptr ? "*" : *key, "UNTIL", "0"}, call.now);
  if (none.IsError()) return RefusalOf(none);
  return AnswerWithEvents(call, *call.commands.dispatcher().recorder().history());
}

constexpr auto kHistoryParameters = std::to_array<Parameter>({
    kDatabase,
    {"key", ValueType::kText, false, "", "Only this key; else all of the database"},
    {"owner", ValueType::kText, false, "", "Only this owner"},
    {"since", ValueType::kNumber, false, "", "Unix time in milliseconds"},
    {"until", ValueType::kNumber, false, "", "Unix time in milliseconds"},
    {"count", ValueType::kNumber, false, "", "How many events; 100 if not given, 500 at most"},
    {"before", ValueType::kNumber, false, "", "next_before of the page before; 0 to begin"},
});

// The connection has taken those who ask for a WebSocket before.
Outcome AskForUpgrade(const RouteCall&) {
  return Refusal(426, "ERR", "this is a WebSocket: the header Upgrade: websocket is missing");
}

constexpr auto kEventParameters = std::to_array<Parameter>({
    {"match", ValueType::kText, false, "", "A glob that the keys match; else all, of any database"},
});

constexpr auto kHistoryRoutes = std::to_array<Route>({
    {Verb::kGet, "/api/v1/history", Access::kRead, ShowHistory, "showHistory",
     "What happened, the newest first", kHistoryParameters, &kHistorySchema},
    {Verb::kGet, "/api/v1/events", Access::kRead, AskForUpgrade, "watchEvents",
     "A WebSocket: what happens, each message a JSON array of events", kEventParameters, nullptr,
     kWithoutLocks, kIsWebSocket},
});

}  // namespace

std::span<const Route> HistoryRoutes() { return kHistoryRoutes; }

}  // namespace fairlock::http
