// `lock`, `unlock`, `renew`, `wait`, `cancel`: uses a lock by hand, as a program would.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "cli/arguments/lock_arguments.h"
#include "cli/commands/all_commands.h"
#include "cli/connection/reply_fields.h"
#include "cli/connection/server_errors.h"
#include "cli/output/duration.h"
#include "cli/views/claim_tables.h"
#include "cli/views/server_locks.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kTokenMax = std::int64_t{1} << 53;
// How much longer than the requested wait the server may take.
constexpr DurationMs kSlackMs = 10'000;
// How often, and for how long, --wait retries while the server is unreachable or starting.
constexpr DurationMs kRetryEveryMs = 200;
constexpr DurationMs kUnreachableMs = 30'000;

constexpr std::string_view kJsonHelp = "Print JSON: the request and its result";

DurationMs PatienceFor(const std::optional<DurationMs>& wait_ms, const Context& context) {
  if (!wait_ms) return 0;
  return *wait_ms >= kForever ? kForever : *wait_ms + context.settings.timeout_ms + kSlackMs;
}

// LOCK

struct LockOptions {
  HoldArguments given;
  LockArguments words;
  std::optional<DurationMs> keep_ms;
  std::optional<std::string> meta;
  bool is_new = false;
  bool is_json = false;
};

std::vector<std::string> RequestOf(const LockOptions& options, const HoldNames& names) {
  std::vector<std::string> words = LockRequest(names.keys, names.owner, options.words);
  if (options.keep_ms) AddDuration(words, "KEEP", *options.keep_ms);
  if (options.is_new) words.emplace_back("NEW");
  if (options.meta) words.insert(words.end(), {"META", *options.meta});
  words.emplace_back("EXPLAIN");
  return words;
}

// What blocks the request.
std::string DenialDetail(const LockOptions& options, const HoldNames& names,
                         const std::string& reason, Context& context) {
  if (reason == "leaving") return "an operator wants it back from this owner";
  const WaitChain chain = FindBlockers({.owner = names.owner,
                                        .keys = names.keys,
                                        .is_shared = options.words.is_shared,
                                        .limit = options.words.limit.value_or(1)},
                                       context.client, context.settings, context.login);
  return ChainSentence(chain, context.errors);
}

std::string ExplainDenial(const LockOptions& options, const HoldNames& names,
                          const protocol::Reply& reply, Context& context) {
  const Screen& screen = context.errors;
  const bool is_over = TextField(reply, "status") == "timeout";
  std::string text = NameKeys(names.keys, screen) + (names.keys.size() == 1 ? " was" : " were") +
                     " not obtained" + (is_over ? " in time" : "");
  const std::string reason = TextField(reply, "reason");
  const std::string key = names.keys.size() > 1 ? TextField(reply, "key") : names.keys.front();
  if (names.keys.size() > 1) text += ": " + screen.Quoted(key);
  if (!reason.empty()) {
    text += (names.keys.size() > 1 ? " is " : ": ") + screen.Printable(reason) + MeaningOf(reason);
  }
  std::string detail = DenialDetail(options, names, reason, context);
  // The user may not be allowed to read the lock.
  if (detail.empty()) detail = FirstHolderText(reply, screen);
  if (!detail.empty()) text += "; " + detail;
  text += "; " + std::to_string(IntegerOr(reply, "waiters")) + " waiting";
  const auto position = IntegerField(reply, "position");
  if (position) text += ", your place is " + std::to_string(*position);
  return text + "; " + WhyCommand(key) + " says more";
}

// Two processes that use the same owner get the same token, so `lock` says that the owner had it.
std::string ExplainHeldBefore(const HoldNames& names, bool was_repeated, const Context& context) {
  return context.errors.Quoted(names.owner) + " already held " +
         NameKeys(names.keys, context.errors) +
         (was_repeated ? ", perhaps since the request on a connection that was lost" : "") +
         ": another process with the same owner may be using it; --new refuses this";
}

struct LockReply {
  protocol::Reply reply;
  bool was_repeated = false;  // after a lost connection, which may have obtained the hold
};

// Retries when the connection is lost (as when the server restarts) and while the server is
// starting: the server keeps the place in the queue for a while, and the same owner gets the token
// that it was granted meanwhile. With several servers, it retries for a while even without --wait,
// because another one may take over. Does not retry if the server was never reached.
Result<LockReply> RequestWithRetries(LockOptions options, const HoldNames& names,
                                     Context& context) {
  Client& client = context.client;
  bool was_repeated = false;
  const TimeMs wait_until = NowMs() + options.words.wait_ms.value_or(0);
  const TimeMs retry_until = client.has_choice()
                                 ? std::max(wait_until, NowMs() + context.settings.timeout_ms)
                                 : wait_until;
  TimeMs give_up_at = 0;
  while (true) {
    const std::vector<std::string> words = RequestOf(options, names);
    const std::vector<std::string_view> views(words.begin(), words.end());
    Result<protocol::Reply> reply =
        client.AskRaw(views, PatienceFor(options.words.wait_ms, context));
    if (reply && !reply->IsError()) return LockReply{*std::move(reply), was_repeated};
    const Failure failure =
        reply ? ServerFailure(reply->text, client.ServerName()) : reply.failure();
    if (reply && !IsTransient(reply->text)) return failure;
    if (client.has_connected() && (!reply || give_up_at == 0)) {
      give_up_at = NowMs() + kUnreachableMs;
    }
    if (NowMs() >= std::min(give_up_at, retry_until)) return failure;
    std::this_thread::sleep_for(std::chrono::milliseconds(kRetryEveryMs));
    if (options.words.wait_ms && *options.words.wait_ms < kForever) {
      options.words.wait_ms = std::max<DurationMs>(wait_until - NowMs(), 0);
    }
    if (reply) continue;
    // The lost connection may have obtained the hold that this owner now has, so the repeated
    // request must not insist on a new one.
    options.is_new = false;
    was_repeated = true;
    client.Reconnect();
  }
}

Result<int> Lock(const LockOptions& options, Context& context) {
  if (const std::string mistake = FindMistake(options.words); !mistake.empty()) {
    return Failure{kExitWrongUse, mistake};
  }
  const Result<HoldNames> names = NamesOf(options.given);
  if (!names) return names.failure();
  const Result<LockReply> answer = RequestWithRetries(options, *names, context);
  if (!answer) return answer.failure();
  const protocol::Reply& reply = answer->reply;
  const auto token = IntegerField(reply, "token");
  if (options.is_json) {
    context.PrintJson(json::ObjectOf(reply));
  } else if (token) {
    context.Print(std::to_string(*token) + "\n");
    if (TextField(reply, "status") == "already") {
      context.Say(ExplainHeldBefore(*names, answer->was_repeated, context));
    }
  } else {
    context.Say(ExplainDenial(options, *names, reply, context));
  }
  return token ? kExitDone : kExitNotObtained;
}

Action DescribeLock(Arguments& arguments) {
  auto options = std::make_shared<LockOptions>();
  AddHoldArguments(arguments, options->given);
  AddLockArguments(arguments, options->words);
  arguments.DurationOrForever("--wait,-w", options->words.wait_ms,
                              "How long to wait in the queue (0 for not at all)");
  arguments.Duration("--keep", options->keep_ms,
                     "If the lock is denied, keep a place in the queue for this long");
  arguments.Flag("--new", options->is_new, "Fail if the owner already holds the lock");
  arguments.Text("--meta", options->meta, "A note, visible to others");
  arguments.Flag("--json", options->is_json, "Print JSON: the reply to LOCK ... EXPLAIN");
  return [options](Context& context) { return Lock(*options, context); };
}

// The other commands send one request, whose reply is a number.

struct HoldOptions {
  HoldArguments given;
  std::string key;  // for `wait`, which has no owner
  std::optional<std::int64_t> token;
  std::optional<DurationMs> duration_ms;
  bool is_json = false;
};

// A request whose reply is a number: the lowest number that means yes, and the message to print for
// any lower one.
struct YesNoRequest {
  std::vector<std::string> words;
  std::int64_t yes = 1;
  std::string if_no;
  std::string_view field;  // the number's name in JSON
  DurationMs patience_ms = 0;
};

Result<int> Answer(const YesNoRequest& request, boost::json::object asked, bool is_json,
                   Context& context) {
  const std::vector<std::string_view> views(request.words.begin(), request.words.end());
  const Result<protocol::Reply> reply = context.client.Ask(views, request.patience_ms);
  if (!reply) return reply.failure();
  if (is_json) {
    asked[request.field] = reply->integer;
    context.PrintJson(asked);
  } else if (reply->integer < request.yes) {
    context.Say(request.if_no);
  }
  return reply->integer >= request.yes ? kExitDone : kExitNo;
}

boost::json::object ObjectOf(const HoldNames& names) {
  protocol::Reply keys{.type = protocol::ReplyType::kArray};
  for (const std::string& key : names.keys) {
    keys.elements.push_back({.type = protocol::ReplyType::kBulk, .text = key});
  }
  boost::json::object object;
  json::AddReply(object, "keys", keys);
  json::AddText(object, "owner", names.owner);
  return object;
}

// Sends one request for all keys.
Result<int> AnswerOnKeys(std::string_view command, std::string_view field,
                         const HoldOptions& options, std::int64_t HoldCount(const HoldNames&),
                         Context& context) {
  const Result<HoldNames> names = NamesOf(options.given);
  if (!names) return names.failure();
  YesNoRequest request{.words = RequestOn(command, names->keys),
                       .yes = HoldCount(*names),
                       .if_no = context.errors.Quoted(names->owner) + " does not hold " +
                                NameKeys(names->keys, context.errors) +
                                (options.token ? " with that token" : ""),
                       .field = field};
  request.words.push_back(names->owner);
  if (options.duration_ms) AddDuration(request.words, "PX", *options.duration_ms);
  if (options.token) {
    request.words.insert(request.words.end(), {"TOKEN", std::to_string(*options.token)});
  }
  return Answer(request, ObjectOf(*names), options.is_json, context);
}

// The server replies with the number of released keys.
Result<int> Unlock(const HoldOptions& options, Context& context) {
  const auto all = [](const HoldNames& names) {
    return static_cast<std::int64_t>(names.keys.size());
  };
  return AnswerOnKeys("UNLOCK", "released", options, all, context);
}

Result<int> Renew(const HoldOptions& options, Context& context) {
  const auto one = [](const HoldNames&) { return std::int64_t{1}; };
  return AnswerOnKeys("RENEW", "renewed", options, one, context);
}

// A request for several keys has one place, which any of its keys identifies.
Result<int> Cancel(const HoldOptions& options, Context& context) {
  const Result<HoldNames> names = NamesOf(options.given);
  if (!names) return names.failure();
  const std::string& key = names->keys.front();
  return Answer({.words = {"CANCEL", key, names->owner},
                 .if_no = context.errors.Quoted(names->owner) + " has no place in the queue of " +
                          context.errors.Quoted(key),
                 .field = "cancelled"},
                ObjectOf(*names), options.is_json, context);
}

Result<int> Wait(const HoldOptions& options, Context& context) {
  const DurationMs wait_ms = options.duration_ms.value_or(kForever);
  YesNoRequest request{.words = {"WAIT", options.key},
                       .if_no = context.errors.Quoted(options.key) + " is still held",
                       .field = "free",
                       .patience_ms = PatienceFor(wait_ms, context)};
  AddDuration(request.words, "TIMEOUT", wait_ms);
  boost::json::object asked;
  json::AddText(asked, "key", options.key);
  const Result<int> status = Answer(request, std::move(asked), options.is_json, context);
  if (status && *status == kExitNo) return kExitNotObtained;
  return status;
}

using RunHold = Result<int> (*)(const HoldOptions&, Context&);

Action DescribeHold(Arguments& arguments, bool has_token, bool has_lease, RunHold run) {
  auto options = std::make_shared<HoldOptions>();
  AddHoldArguments(arguments, options->given);
  if (has_lease) {
    arguments.Lease("--ttl", options->duration_ms, "Length of the new lease, from now (as before)");
  }
  if (has_token) {
    arguments.Number("--token", options->token, {1, kTokenMax}, "Only the hold with this token");
  }
  arguments.Flag("--json", options->is_json, std::string(kJsonHelp));
  return [options, run](Context& context) { return run(*options, context); };
}

Action DescribeUnlock(Arguments& arguments) { return DescribeHold(arguments, true, false, Unlock); }

Action DescribeRenew(Arguments& arguments) { return DescribeHold(arguments, true, true, Renew); }

Action DescribeCancel(Arguments& arguments) {
  return DescribeHold(arguments, false, false, Cancel);
}

Action DescribeWait(Arguments& arguments) {
  auto options = std::make_shared<HoldOptions>();
  arguments.Required("KEY", options->key, "Name of the lock");
  arguments.DurationOrForever("--timeout,--wait,-w", options->duration_ms,
                              "How long to wait (forever)");
  arguments.Flag("--json", options->is_json, std::string(kJsonHelp));
  return [options](Context& context) { return Wait(*options, context); };
}

constexpr auto kLockCommands = std::to_array<CommandRow>({
    {"lock", kLocking, "Takes a lock (or several, all or none) and prints its token", DescribeLock},
    {"unlock", kLocking, "Releases a lock, or leaves its queue", DescribeUnlock},
    {"renew", kLocking, "Renews a lease", DescribeRenew},
    {"wait", kLocking, "Waits until nobody holds a lock, without taking it", DescribeWait},
    {"cancel", kLocking, "Removes an owner from a queue", DescribeCancel},
});

}  // namespace

std::span<const CommandRow> LockCommands() { return kLockCommands; }

}  // namespace fairlock::cli
