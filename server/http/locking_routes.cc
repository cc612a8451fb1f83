// Takes, renews and releases locks: for shells, serverless functions and tools that speak HTTP.

#include <array>
#include <boost/json/parse.hpp>
#include <string>
#include <utility>
#include <vector>

#include "json/reply_json.h"
#include "server/command/table/duration_text.h"
#include "server/http/answers.h"
#include "server/http/command_caller.h"
#include "server/http/inputs.h"
#include "server/http/route.h"
#include "server/http/schema.h"

namespace fairlock::http {

namespace {

constexpr unsigned kConflict = 409;
constexpr unsigned kLocked = 423;

// A field of a map; null if it has none of that name.
const protocol::Reply* FieldOf(const protocol::Reply& map, std::string_view name) {
  for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2) {
    if (map.elements[i].text == name) return &map.elements[i + 1];
  }
  return nullptr;
}

// A reply of a command that was asked to explain itself.
Answer ExplainedAnswer(const protocol::Reply& reply) {
  if (reply.IsError()) return RefusalOf(reply);
  Answer answer = JsonAnswer(json::ObjectOf(reply));
  const protocol::Reply* const token = FieldOf(reply, "token");
  if (token == nullptr || token->type != protocol::ReplyType::kInteger) answer.status = kConflict;
  return answer;
}

// Executes the command. Its reply may come later, if it waits.
Outcome Ask(const RouteCall& call, const std::vector<std::string_view>& arguments,
            std::function<Answer(const protocol::Reply&)> answer) {
  if (const auto reply = call.commands.Ask(arguments, call.now)) return answer(*reply);
  return AwaitedReply{.answer = std::move(answer)};
}

// A duration in the text of a parameter, as milliseconds.
std::optional<std::string> MillisecondsOf(std::string_view text) {
  const auto duration = command::ParseDuration(text);
  return duration ? std::optional(std::to_string(duration->ms)) : std::nullopt;
}

Outcome Acquire(const RouteCall& call) {
  const Inputs& inputs = call.inputs;
  const auto wait = command::ParseDuration(inputs.Text("wait", "0"));
  if (!wait || wait->ms > call.limits.wait_ms_max) {
    return Refusal(400, "ERR",
                   "wait must be a duration of at most " +
                       command::FormatDuration(call.limits.wait_ms_max) +
                       " (http_wait_max); ask again for more, with the same owner");
  }
  if (wait->ms > 0 && !call.limits.has_room_to_wait) {
    return Refusal(503, "TRYAGAIN",
                   "too many HTTP requests are waiting: half of http_max_clients may");
  }
  const auto lease = MillisecondsOf(inputs.Text("lease", "0"));
  if (!lease) return Refusal(400, "ERR", "lease must be a duration, such as 30s");
  call.commands.SelectDatabase(inputs.Database());
  std::vector<std::string_view> arguments = {"LOCK", inputs.Text("key"), inputs.Text("owner")};
  if (inputs.Find("lease") != nullptr) arguments.insert(arguments.end(), {"PX", *lease});
  const std::string wait_ms = std::to_string(wait->ms);
  if (wait->ms > 0) arguments.insert(arguments.end(), {"WAIT", wait_ms});
  inputs.AppendOptions(arguments);
  arguments.emplace_back("EXPLAIN");
  return Ask(call, arguments, ExplainedAnswer);
}

// What stands at the key, for a request about a hold that its owner does not have.
Answer NotHeld(CommandCaller& commands, std::string_view key, engine::TimeMs now) {
  const protocol::Reply info = commands.Call({"LOCKINFO", key}, now);
  Answer answer = info.IsError() ? RefusalOf(info) : JsonAnswer(json::ObjectOf(info));
  answer.status = kConflict;
  return answer;
}

Outcome AnswerHeld(const RouteCall& call, std::string_view field, const protocol::Reply& reply) {
  if (reply.IsError()) return RefusalOf(reply);
  if (reply.integer < 1) return NotHeld(call.commands, call.inputs.Text("key"), call.now);
  return AnswerWith(field, reply);
}

Outcome Renew(const RouteCall& call) {
  const Inputs& inputs = call.inputs;
  const auto lease = MillisecondsOf(inputs.Text("lease"));
  if (!lease) return Refusal(400, "ERR", "lease must be a duration, such as 30s");
  call.commands.SelectDatabase(inputs.Database());
  std::vector<std::string_view> arguments = {"RENEW", inputs.Text("key"), inputs.Text("owner"),
                                             "PX", *lease};
  inputs.AppendOptions(arguments);
  return AnswerHeld(call, "renewed", call.commands.Call(arguments, call.now));
}

Outcome Release(const RouteCall& call) {
  call.commands.SelectDatabase(call.inputs.Database());
  std::vector<std::string_view> arguments = {"UNLOCK", call.inputs.Text("key"),
                                             call.inputs.Text("owner")};
  call.inputs.AppendOptions(arguments);
  return AnswerHeld(call, "released", call.commands.Call(arguments, call.now));
}

Outcome Check(const RouteCall& call) {
  call.commands.SelectDatabase(call.inputs.Database());
  return AnswerHeld(
      call, "held",
      call.commands.Call({"CHECK", call.inputs.Text("key"), call.inputs.Text("token")}, call.now));
}

// Terraform and OpenTofu lock a state by a request with the method LOCK, whose body describes who
// asks and why, and release it by UNLOCK with the same body. If the state is locked, they show the
// body of the answer, which must describe the holder in the same form. The owner is the ID in it.
//
// `force-unlock` sends no body, or one with nothing but the ID that the operator has typed.
constexpr const char* kTerraformPrefix = "terraform:";

// The text of a member of the JSON object; empty if it is no object, or has no such text.
std::string MemberOf(std::string_view object, std::string_view name) {
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse({object.data(), object.size()}, error);
  if (error || !value.is_object()) return "";
  const boost::json::value* const member =
      value.as_object().if_contains({name.data(), name.size()});
  if (member == nullptr || !member->is_string()) return "";
  return std::string(member->as_string());
}

// The lock info that the holder's request had.
Answer HoldersInfo(CommandCaller& commands, std::string_view key, engine::TimeMs now) {
  const protocol::Reply info = commands.Call({"LOCKINFO", key}, now);
  if (info.IsError()) return RefusalOf(info);
  const protocol::Reply* const holders = FieldOf(info, "holders");
  std::string body = "{}";
  if (holders != nullptr && !holders->elements.empty()) {
    const protocol::Reply& first = holders->elements.front();
    const protocol::Reply* const meta = FieldOf(first, "meta");
    const protocol::Reply* const owner = FieldOf(first, "owner");
    if (meta != nullptr && !MemberOf(meta->text, "ID").empty()) {
      body = meta->text;
    } else if (owner != nullptr) {
      boost::json::object object;
      json::AddText(object, "ID", owner->text);
      body = json::Written(object);
    }
  }
  return {.status = kLocked, .body = body + "\n"};
}

Outcome LockState(const RouteCall& call) {
  const std::string id = MemberOf(call.body, "ID");
  if (id.empty()) return Refusal(400, "ERR", "the body must be a lock info: JSON with an ID");
  const std::string key = std::string(kTerraformPrefix).append(call.inputs.Text("name"));
  const auto lease = MillisecondsOf(call.inputs.Text("lease", call.limits.terraform_lease));
  if (!lease) return Refusal(400, "ERR", "lease must be a duration, such as 1h");
  std::vector<std::string_view> arguments = {"LOCK", key, id, "META", call.body};
  const std::string longest = std::to_string(engine::kLeaseMsMax);
  arguments.insert(arguments.end(), {"PX", *lease == "0" ? longest : *lease});
  const protocol::Reply reply = call.commands.Call(arguments, call.now);
  if (reply.IsError()) return RefusalOf(reply);
  if (reply.type == protocol::ReplyType::kInteger) return Answer{.body = "{}\n"};
  return HoldersInfo(call.commands, key, call.now);
}

Outcome UnlockState(const RouteCall& call) {
  const std::string key = std::string(kTerraformPrefix).append(call.inputs.Text("name"));
  const std::string id = MemberOf(call.body, "ID");
  const protocol::Reply reply =
      id.empty() ? call.commands.Call({"BREAK", key, "REASON", "force-unlock"}, call.now)
                 : call.commands.Call({"UNLOCK", key, id}, call.now);
  if (reply.IsError()) return RefusalOf(reply);
  if (reply.integer > 0) return Answer{.body = "{}\n"};
  const protocol::Reply locked = call.commands.Call({"LOCKED", key}, call.now);
  if (!locked.IsError() && locked.integer == 0) return Answer{.body = "{}\n"};
  return HoldersInfo(call.commands, key, call.now);
}

constexpr Parameter kKey = {"key", ValueType::kText, true, "", "The key of the lock"};
constexpr Parameter kOwner = {"owner", ValueType::kText, true, "", "Who holds it, or asks for it"};
constexpr Parameter kLease = {"lease", ValueType::kDuration, false, "",
                              "How long the hold lasts unless it is renewed; if not given, "
                              "default_lease"};

constexpr auto kAcquireParameters = std::to_array<Parameter>({
    kDatabase,
    kKey,
    kOwner,
    kLease,
    {"wait", ValueType::kDuration, false, "",
     "How long to wait in the queue, at most http_wait_max; if not given, not at all"},
    {"keep", ValueType::kDuration, false, "KEEP",
     "How long the place in the queue is kept after the wait"},
    {"limit", ValueType::kNumber, false, "LIMIT", "How many owners may hold it at a time"},
    {"shared", ValueType::kFlag, false, "SHARED", "Share it with others that ask for this too"},
    {"min_hold", ValueType::kDuration, false, "MINHOLD",
     "Nobody else is granted it for this long, however soon it is released"},
    {"max_waiters", ValueType::kNumber, false, "MAXWAITERS",
     "Do not wait if this many others are waiting"},
    {"new", ValueType::kFlag, false, "NEW", "Fail if the owner already holds it"},
    {"label", ValueType::kText, false, "LABEL", "Kind of lock, for the statistics"},
    {"meta", ValueType::kText, false, "META", "A note, visible to others"},
});

constexpr Parameter kNewLease = {"lease", ValueType::kDuration, true, "",
                                 "How long the hold lasts from now on"};
constexpr Parameter kToken = {"token", ValueType::kNumber, false, "TOKEN",
                              "Only the hold with this token"};
constexpr auto kRenewParameters =
    std::to_array<Parameter>({kDatabase, kKey, kOwner, kNewLease, kToken});
constexpr auto kReleaseParameters = std::to_array<Parameter>({kDatabase, kKey, kOwner, kToken});
constexpr auto kCheckParameters = std::to_array<Parameter>(
    {kDatabase, kKey, {"token", ValueType::kNumber, true, "", "The token of the hold"}});

constexpr Parameter kName = {"name", ValueType::kText, true, "", "The name of the state"};
constexpr auto kLockStateParameters =
    std::to_array<Parameter>({kName,
                              {"lease", ValueType::kDuration, false, "",
                               "How long the lock lasts; if not given, terraform_lease"}});
constexpr auto kUnlockStateParameters = std::to_array<Parameter>({kName});

constexpr auto kLockingRoutes = std::to_array<Route>({
    {.verb = Verb::kPost,
     .path = "/api/v1/acquire",
     .access = Access::kSteer,
     .handler = Acquire,
     .name = "acquireLock",
     .summary = "Takes a lock, or waits for it in the order of asking; 409 if it was not granted",
     .parameters = kAcquireParameters,
     .answer = &kAcquiredSchema,
     .key_prefix = ""},
    {.verb = Verb::kPost,
     .path = "/api/v1/renew",
     .access = Access::kSteer,
     .handler = Renew,
     .name = "renewLock",
     .summary = "Sets when a hold ends; 409 if the owner does not hold the lock",
     .parameters = kRenewParameters,
     .answer = &kRenewedSchema,
     .key_prefix = ""},
    {.verb = Verb::kPost,
     .path = "/api/v1/release",
     .access = Access::kSteer,
     .handler = Release,
     .name = "releaseLock",
     .summary = "Ends a hold, or the owner's place in the queue; 409 if there is neither",
     .parameters = kReleaseParameters,
     .answer = &kReleasedSchema,
     .key_prefix = ""},
    {.verb = Verb::kPost,
     .path = "/api/v1/check",
     .access = Access::kSteer,
     .handler = Check,
     .name = "checkToken",
     .summary = "Whether the token still holds the lock; 409 if it does not",
     .parameters = kCheckParameters,
     .answer = &kHeldSchema,
     .key_prefix = ""},
    {.verb = Verb::kLock,
     .path = "/terraform/{name}",
     .access = Access::kSteer,
     .handler = LockState,
     .name = "lockState",
     .summary = "Locks a state of Terraform or OpenTofu",
     .parameters = kLockStateParameters,
     .takes_any_body = true,
     .key_prefix = kTerraformPrefix},
    {.verb = Verb::kUnlock,
     .path = "/terraform/{name}",
     .access = Access::kSteer,
     .handler = UnlockState,
     .name = "unlockState",
     .summary = "Unlocks a state of Terraform or OpenTofu",
     .parameters = kUnlockStateParameters,
     .takes_any_body = true,
     .key_prefix = kTerraformPrefix},
});

}  // namespace

std::span<const Route> LockingRoutes() { return kLockingRoutes; }

}  // namespace fairlock::http
