// Ends holds and waits, and changes limits, clients and settings: the routes that need the token.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "json/reply_json.h"
#include "protocol/lock_columns.h"
#include "server/http/answers.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/route.h"
#include "server/http/schema.h"

namespace fairlock::http {

namespace {

// Breaks every lock whose key matches and which the user may break, or only lists those locks.
class BreakMatching final : public Job {
 public:
  static constexpr std::size_t kKeysShownMax = 100;

  BreakMatching(CommandCaller& commands, const Inputs& inputs)
      : commands_(commands),
        database_(inputs.Database()),
        walk_(
            {"MATCH", std::string(inputs.Text("match")), "DB", std::to_string(inputs.Database())}),
        reason_(inputs.Text("reason")),
        is_dry_run_(inputs.Flag("dry_run")) {}

  std::optional<Answer> Step(engine::TimeMs now) override {
    commands_.SelectDatabase(database_);
    std::vector<Held> page;
    const bool is_last = walk_.Step(commands_, now, [&](protocol::Reply& row) {
      if (row.elements[protocol::LockColumn("holders")].integer == 0) return;
      const bool is_of_library = protocol::IsOfLibrary(row);
      page.push_back({.key = std::move(row.elements[protocol::LockColumn("key")].text),
                      .is_of_library = is_of_library});
    });
    if (walk_.error()) return RefusalOf(*walk_.error());
    for (const auto& [key, is_of_library] : page) {
      std::string denial = commands_.Judge({"BREAK", key});
      if (!denial.empty()) {
        denial_ = std::move(denial);
        continue;
      }
      const protocol::Reply reply = Break(key, is_of_library, now);
      if (reply.IsError()) return RefusalOf(reply);
      broken_ += reply.integer;
      ++locks_;
      if (keys_.size() < kKeysShownMax) {
        boost::json::object shown;
        json::AddText(shown, "key", key);
        keys_.push_back(std::move(shown));
      }
    }
    if (!is_last) return std::nullopt;
    if (locks_ == 0 && !denial_.empty()) return Refusal(403, "NOPERM", denial_);
    return JsonAnswer({{"dry_run", is_dry_run_},
                       {"locks", locks_},
                       {"broken", broken_},
                       {"keys", std::move(keys_)}});
  }

 private:
  struct Held {
    std::string key;
    bool is_of_library;
  };

  protocol::Reply Break(const std::string& key, bool is_of_library, engine::TimeMs now) {
    // LOCKED does not count the holds of libraries; BREAK reports one.
    if (is_dry_run_ && is_of_library) return {.type = protocol::ReplyType::kInteger, .integer = 1};
    if (is_dry_run_) return commands_.Call({"LOCKED", key}, now);
    if (reason_.empty()) return commands_.Call({"BREAK", key}, now);
    return commands_.Call({"BREAK", key, "REASON", reason_}, now);
  }

  CommandCaller& commands_;
  const std::uint8_t database_;
  LockWalk walk_;
  const std::string reason_;
  const bool is_dry_run_;
  std::string denial_;  // the denial for the last lock that the user may not break; empty: none
  std::int64_t locks_ = 0;
  std::int64_t broken_ = 0;
  boost::json::array keys_;
};

Outcome BreakLock(const RouteCall& call) {
  const std::string_view key = call.inputs.Text("key");
  call.commands.SelectDatabase(call.inputs.Database());
  std::vector<std::string_view> arguments = {"BREAK", key};
  if (const std::string* owner = call.inputs.Find("owner")) arguments.push_back(*owner);
  call.inputs.AppendOptions(arguments);
  return AnswerWith("broken", call.commands.Call(arguments, call.now));
}

Outcome BreakAll(const RouteCall& call) {
  return std::make_unique<BreakMatching>(call.commands, call.inputs);
}

Outcome CancelPlace(const RouteCall& call) {
  call.commands.SelectDatabase(call.inputs.Database());
  return AnswerWith(
      "cancelled",
      call.commands.Call({"CANCEL", call.inputs.Text("key"), call.inputs.Text("owner")}, call.now));
}

Outcome ListLimits(const RouteCall& call) {
  return AnswerWith("limits", call.commands.Call({"LIMIT", "LIST"}, call.now));
}

Outcome SetLimit(const RouteCall& call) {
  call.commands.SelectDatabase(call.inputs.Database());
  std::vector<std::string_view> arguments = {"LIMIT", "SET", call.inputs.Text("pattern"),
                                             call.inputs.Text("limit")};
  call.inputs.AppendOptions(arguments);
  return AnswerWith("limit", call.commands.Call(arguments, call.now));
}

Outcome DeleteLimit(const RouteCall& call) {
  call.commands.SelectDatabase(call.inputs.Database());
  return AnswerWith("deleted",
                    call.commands.Call({"LIMIT", "DEL", call.inputs.Text("pattern")}, call.now));
}

Outcome KillClient(const RouteCall& call) {
  return AnswerWith("killed",
                    call.commands.Call({"CLIENT", "KILL", "ID", call.inputs.Text("id")}, call.now));
}

Outcome ChangeSetting(const RouteCall& call) {
  return AnswerWith("changed", call.commands.Call({"CONFIG", "SET", call.inputs.Text("name"),
                                                   call.inputs.Text("value")},
                                                  call.now));
}

constexpr Parameter kKey = {"key", ValueType::kText, true, "", "The key of the lock"};
constexpr Parameter kReason = {"reason", ValueType::kText, false, "REASON",
                               "Reason, kept in the history"};
constexpr Parameter kPattern = {"pattern", ValueType::kText, true, "", "A glob that matches keys"};

constexpr auto kBreakParameters = std::to_array<Parameter>({
    kDatabase,
    kKey,
    {"owner", ValueType::kText, false, "",
     "Only this owner's hold; otherwise all holds, and any cooldown"},
    {"grace", ValueType::kText, false, "GRACE",
     "How long the holders may take to release it, such as 10s; if not given, the holds end at "
     "once"},
    kReason,
});

constexpr auto kBreakAllParameters = std::to_array<Parameter>({
    kDatabase,
    {"match", ValueType::kText, true, "", "Only keys that match this glob"},
    {"dry_run", ValueType::kFlag, false, "", "Only report which holds would end"},
    kReason,
});

constexpr auto kCancelParameters = std::to_array<Parameter>(
    {kDatabase, kKey, {"owner", ValueType::kText, true, "", "The owner to remove from the queue"}});

constexpr auto kSetLimitParameters = std::to_array<Parameter>({
    kDatabase,
    kPattern,
    {"limit", ValueType::kNumber, true, "",
     "Maximum number of holds on each key; 0: no new ones are granted"},
    {"seconds", ValueType::kNumber, false, "EX", "For how long; if not given, until it is deleted"},
    kReason,
});

constexpr auto kDeleteLimitParameters = std::to_array<Parameter>({kDatabase, kPattern});

constexpr auto kKillParameters = std::to_array<Parameter>(
    {{"id", ValueType::kNumber, true, "", "The number of the connection"}});

constexpr auto kSettingParameters = std::to_array<Parameter>({
    {"name", ValueType::kText, true, "", "An option that can be changed while the server runs"},
    {"value", ValueType::kText, true, "", "Its new value, as in the configuration file"},
});

constexpr auto kSteeringRoutes = std::to_array<Route>({
    {Verb::kPost, "/api/v1/break", Access::kSteer, BreakLock, "breakLock",
     "Forcibly ends one owner's hold, or all holds on a lock", kBreakParameters, &kBrokenSchema},
    {Verb::kPost, "/api/v1/break-matching", Access::kSteer, BreakAll, "breakMatching",
     "Forcibly ends all holds on matching keys, or only lists them", kBreakAllParameters,
     &kBrokenMatchingSchema},
    {Verb::kPost, "/api/v1/cancel", Access::kSteer, CancelPlace, "cancelPlace",
     "Removes an owner from the queue of a lock", kCancelParameters, &kCancelledSchema},
    {Verb::kGet,
     "/api/v1/limits",
     Access::kRead,
     ListLimits,
     "listLimits",
     "The LIMIT overrides that are in force",
     {},
     &kLimitsSchema},
    {Verb::kPost, "/api/v1/limits/set", Access::kSteer, SetLimit, "setLimit",
     "Overrides LIMIT on the keys that match a pattern", kSetLimitParameters, &kLimitSetSchema},
    {Verb::kPost, "/api/v1/limits/delete", Access::kSteer, DeleteLimit, "deleteLimit",
     "Ends an override", kDeleteLimitParameters, &kDeletedSchema},
    {Verb::kPost, "/api/v1/clients/kill", Access::kSteer, KillClient, "killClient",
     "Closes a connection", kKillParameters, &kKilledSchema, kWithoutLocks},
    {Verb::kPost, "/api/v1/settings", Access::kSteer, ChangeSetting, "changeSetting",
     "Changes an option until the server restarts", kSettingParameters, &kChangedSchema,
     kWithoutLocks},
});

}  // namespace

std::span<const Route> SteeringRoutes() { return kSteeringRoutes; }

}  // namespace fairlock::http
