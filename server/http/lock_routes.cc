// Routes that read locks.

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "json/reply_json.h"
#include "protocol/lock_columns.h"
#include "server/command/handlers/library_lock_info.h"
#include "server/command/locks/lock_replies.h"
#include "server/command/table/text.h"
#include "server/http/answers.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/minute_figures.h"
#include "server/http/route.h"
#include "server/http/schema.h"

namespace fairlock::http {

namespace {

boost::json::object RowOf(const protocol::Reply& row) {
  boost::json::object object;
  protocol::ForEachColumn(row, [&object](std::string_view name, const protocol::Reply& value) {
    json::AddReply(object, name, value);
  });
  return object;
}

struct Order {
  std::string_view name;
  std::size_t column;
  bool is_number;  // true: largest first; false: strings in byte order
};
constexpr auto kOrders =
    std::to_array<Order>({{"wait", protocol::LockColumn("longest_wait_ms"), true},
                          {"hold", protocol::LockColumn("oldest_hold_ms"), true},
                          {"waiters", protocol::LockColumn("waiters"), true},
                          {"holders", protocol::LockColumn("holders"), true},
                          {"limit", protocol::LockColumn("limit"), true},
                          {"key", protocol::LockColumn("key"), false},
                          {"label", protocol::LockColumn("label"), false},
                          {"owner", protocol::LockColumn("first_owner"), false}});

// Compares rows of LOCKS by one column. Ties are ordered by key and empty values come last, so that
// the same locks always give the same order.
class RowOrder {
 public:
  RowOrder(const Order& order, bool is_reversed) : order_(order), is_reversed_(is_reversed) {}

  bool operator()(const protocol::Reply& a, const protocol::Reply& b) const {
    const int compared = Compare(a.elements[order_.column], b.elements[order_.column]);
    if (compared != 0) return compared < 0;
    constexpr std::size_t kKey = protocol::LockColumn("key");
    constexpr std::size_t kDb = protocol::LockColumn("db");
    const int keys = a.elements[kKey].text.compare(b.elements[kKey].text);
    return keys != 0 ? keys < 0 : a.elements[kDb].integer < b.elements[kDb].integer;
  }

 private:
  // Negative: `a` comes first.
  int Compare(const protocol::Reply& a, const protocol::Reply& b) const {
    if (a.IsNull() || b.IsNull())
      return static_cast<int>(a.IsNull()) - static_cast<int>(b.IsNull());
    const int rising = order_.is_number ? (a.integer > b.integer) - (a.integer < b.integer)
                                        : a.text.compare(b.text);
    return order_.is_number != is_reversed_ ? -rising : rising;
  }

  const Order order_;
  const bool is_reversed_;
};

// Sorts all locks in a given order, and answers with the first rows.
class SortedLocks final : public SharedWork {
 public:
  SortedLocks(std::vector<std::string> options, const RowOrder& order, std::size_t count_max)
      : walk_(std::move(options)), count_max_(count_max), comes_first_(order) {}

  std::optional<Answer> Step(CommandCaller& commands, engine::TimeMs now) override {
    const bool is_last = walk_.Step(commands, now, [this](protocol::Reply& row) { Take(row); });
    if (walk_.error()) return RefusalOf(*walk_.error());
    if (!is_last) return std::nullopt;
    std::sort_heap(best_.begin(), best_.end(), comes_first_);
    boost::json::array rows;
    for (const protocol::Reply& row : best_) rows.push_back(RowOf(row));
    return JsonAnswer({{"locks", std::move(rows)}, {"found", found_}, {"cursor", "0"}});
  }

 private:
  void Take(protocol::Reply& row) {
    ++found_;
    best_.push_back(std::move(row));
    std::push_heap(best_.begin(), best_.end(), comes_first_);
    if (best_.size() <= count_max_) return;
    std::pop_heap(best_.begin(), best_.end(), comes_first_);
    best_.pop_back();
  }

  LockWalk walk_;
  const std::size_t count_max_;
  const RowOrder comes_first_;
  std::vector<protocol::Reply> best_;  // a heap: its front is the next to be replaced
  std::int64_t found_ = 0;
};

constexpr std::int64_t kRowsMax = 1000;

std::vector<std::string> OptionsOf(const Inputs& inputs) {
  std::vector<std::string_view> words;
  inputs.AppendOptions(words);
  if (inputs.Find("db") == nullptr) words.insert(words.end(), {"DB", "*"});
  return {words.begin(), words.end()};
}

Outcome ListLocks(const RouteCall& call) {
  if (auto refusal = RefuseCount(call.inputs, kRowsMax)) return *std::move(refusal);
  const std::int64_t count = call.inputs.Number("count", kRowsDefault);
  const std::string_view sort = call.inputs.Text("sort");
  const std::vector<std::string> options = OptionsOf(call.inputs);
  if (!sort.empty()) {
    const auto* order = std::find_if(kOrders.begin(), kOrders.end(),
                                     [sort](const Order& one) { return one.name == sort; });
    if (order == kOrders.end()) {
      return Refusal(400, "ERR",
                     "sort must be one of wait, hold, waiters, holders, limit, key, label, owner");
    }
    const bool is_reversed = call.inputs.Flag("reverse");
    std::string question = "locks " + std::to_string(count) + " " + std::string(sort) +
                           (is_reversed ? " reversed" : "");
    for (const std::string& option : options) question.append(" ").append(command::Quoted(option));
    return call.figures.shared.Take(question, SharedAnswers::kWalkAgeMsMax, call, [&] {
      return std::make_unique<SortedLocks>(options, RowOrder(*order, is_reversed),
                                           static_cast<std::size_t>(count));
    });
  }
  const std::string count_text = std::to_string(count);
  std::vector<std::string_view> arguments = {"LOCKS", call.inputs.Text("cursor", "0"), "COUNT",
                                             count_text};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const protocol::Reply page = call.commands.Call(arguments, call.now);
  if (page.IsError()) return RefusalOf(page);
  boost::json::array rows;
  for (const protocol::Reply& row : page.elements.at(1).elements) rows.push_back(RowOf(row));
  return JsonAnswer({{"locks", std::move(rows)}, {"cursor", page.elements.at(0).text}});
}

// The maximum number of holders that an answer describes, however many there are. Describing this
// many costs as much as a few dozen requests.
constexpr std::size_t kHoldersMax = 100;
constexpr std::int64_t kPlacesMax = 500;

Outcome ShowLock(const RouteCall& call) {
  const std::string_view key = call.inputs.Text("key");
  if (auto refusal = RefuseDenied(call.commands, {"LOCKINFO", key})) return *std::move(refusal);
  call.commands.SelectDatabase(call.inputs.Database());
  // QUEUE also expires overdue holds and waits.
  const protocol::Reply line = call.commands.Call({"QUEUE", key, "COUNT", "100"}, call.now);
  if (line.IsError()) return RefusalOf(line);
  // Does not call LOCKINFO, because that would write all holders, of which there may be thousands.
  command::ServerParts& server = call.commands.server();
  const engine::KeyName name = {.db = call.inputs.Database(), .bytes = key};
  const command::AskedKey asked = {server, call.commands.user(), name, call.now};
  const auto of_library = command::InspectLibraryLock(asked, kHoldersMax);
  const engine::LockInfo info = of_library ? of_library->info
                                           : server.locks.engine().inspection().Inspect(
                                                 name, kHoldersMax, server.locks.StepAt(call.now));
  const command::ShownValue value = {command::TypeOfValue(asked),
                                     of_library ? of_library->lock.library : std::string_view()};
  const protocol::Reply written = ReplyOf([&](protocol::ReplyWriter& writer) {
    command::WriteLockInfo(writer, server.unix_time, info, call.now, value);
  });
  boost::json::object object;
  json::AddText(object, "key", key);
  object["db"] = call.inputs.Database();
  for (const auto& field : json::ObjectOf(written)) object.insert(field);
  object["holder_count"] = info.holder_count;
  json::AddReply(object, "line", line);
  return JsonAnswer(object);
}

Outcome ShowLine(const RouteCall& call) {
  if (auto refusal = RefuseCount(call.inputs, kPlacesMax)) return *std::move(refusal);
  call.commands.SelectDatabase(call.inputs.Database());
  std::vector<std::string_view> arguments = {"QUEUE", call.inputs.Text("key")};
  call.inputs.AppendOptions(arguments);
  return AnswerWith("line", call.commands.Call(arguments, call.now));
}

constexpr Parameter kDbInPath = {"db", ValueType::kDatabase, true, "", "The database"};
constexpr Parameter kKeyInPath = {"key", ValueType::kText, true, "", "The key of the lock"};

constexpr auto kListParameters = std::to_array<Parameter>({
    {"match", ValueType::kText, false, "MATCH", "Only keys that match this glob"},
    {"db", ValueType::kDatabase, false, "DB", "Only this database; otherwise all databases"},
    {"label", ValueType::kText, false, "LABEL", "Only locks with a hold or place with this label"},
    {"owner", ValueType::kText, false, "OWNER", "Only locks that this owner holds or waits for"},
    {"waiting", ValueType::kDuration, false, "WAITING",
     "Only locks with a waiter that has waited at least this long"},
    {"held", ValueType::kDuration, false, "HELD",
     "Only locks that have been held for at least this long"},
    {"no_expiry", ValueType::kFlag, false, "NOEXPIRY", "Only holds that never expire"},
    {"sort", ValueType::kText, false, "",
     "wait, hold, waiters, holders or limit: the top locks overall, largest first; or sort by key, "
     "label or owner"},
    {"reverse", ValueType::kFlag, false, "", "Reverse the order; only with sort"},
    {"count", ValueType::kNumber, false, "",
     "Approximate number of locks; 100 if not given, 1,000 at most. Without sort, a page examines "
     "only 250 locks"},
    {"cursor", ValueType::kNumber, false, "",
     "Cursor returned with the previous page; not with sort"},
});

constexpr auto kLockParameters = std::to_array<Parameter>({kDbInPath, kKeyInPath});

constexpr auto kLineParameters = std::to_array<Parameter>({
    kDbInPath,
    kKeyInPath,
    {"start", ValueType::kNumber, false, "START",
     "Number of places to skip at the front of the queue"},
    {"count", ValueType::kNumber, false, "COUNT", "How many places; 100 if not given, 500 at most"},
});

constexpr auto kLockRoutes = std::to_array<Route>({
    {Verb::kGet, "/api/v1/locks", Access::kRead, ListLocks, "listLocks",
     "Locks that are held or waited for: page by page, or the first ones in a sort order",
     kListParameters, &kLocksSchema},
    {Verb::kGet, "/api/v1/locks/{db}/{key}", Access::kRead, ShowLock, "showLock",
     "One lock: its first 100 holders and the first 100 places in its queue", kLockParameters,
     &kLockSchema},
    {Verb::kGet, "/api/v1/locks/{db}/{key}/line", Access::kRead, ShowLine, "showLine",
     "Places in the queue of one lock", kLineParameters, &kLineSchema},
});

}  // namespace

std::span<const Route> LockRoutes() { return kLockRoutes; }

}  // namespace fairlock::http
