// `lock`, `unlock`, `renew`, `wait`, `cancel`: what a program does with a lock, by hand.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "cli/arguments/hold_words.h"
#include "cli/arguments/lock_words.h"
#include "cli/commands/all_commands.h"
#include "cli/connection/reply_fields.h"
#include "cli/connection/server_errors.h"
#include "cli/output/duration.h"
#include "cli/views/claim_tables.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kTokenMax = std::int64_t{1} << 53;
constexpr std::int64_t kWaitersMax = 1'000'000;
// What the server may take beyond the time that it was asked to wait.
constexpr DurationMs kSlackMs = 10'000;
// With --wait: how often and how long a server that is lost, or is starting, is asked again.
constexpr DurationMs kAskAgainMs = 200;
constexpr DurationMs kUnreachableMs = 30'000;

constexpr std::string_view kJsonHelp = "As JSON: what was asked and what came of it";

DurationMs PatienceFor(const std::optional<DurationMs>& wait_ms, const Context& context) {
  if (!wait_ms) return 0;
  return *wait_ms >= kForever ? kForever : *wait_ms + context.settings.timeout_ms + kSlackMs;
}

// LOCK

struct LockOptions {
  HoldWords given;
  LockWords words;
  std::optional<DurationMs> keep_ms;
  std::optional<std::int64_t> max_waiters;
  std::optional<std::string> meta;
  bool is_replace = false;
  bool is_new = false;
  bool is_json = false;
};

std::vector<std::string> RequestOf(const LockOptions& options, const HoldNames& names) {
  std::vector<std::string> words = LockRequest(names.keys, names.owner, options.words);
  if (options.keep_ms) AddDuration(words, "KEEP", *options.keep_ms);
  if (options.max_waiters) {
    words.insert(words.end(), {"MAXWAITERS", std::to_string(*options.max_waiters)});
    if (options.is_replace) words.emplace_back("REPLACE");
  }
  if (options.is_new) words.emplace_back("NEW");
  if (options.meta) words.insert(words.end(), {"META", *options.meta});
  words.emplace_back("EXPLAIN");
  return words;
}

std::string ExplainDenial(const HoldNames& names, const protocol::Reply& reply,
                          const Context& context) {
  const Screen& screen = context.errors;
  const bool is_over = TextField(reply, "status") == "timeout";
  std::string text = NameKeys(names.keys, screen) + (names.keys.size() == 1 ? " was" : " were") +
                     " not obtained" + (is_over ? " in time" : "");
  const std::string reason = TextField(reply, "reason");
  if (names.keys.size() > 1) text += ": " + screen.Quoted(TextField(reply, "key"));
  if (!reason.empty()) {
    text += (names.keys.size() > 1 ? " is " : ": ") + screen.Printable(reason);
  }
  const protocol::Reply* const holders = FindField(reply, "holders");
  if (holders != nullptr && !holders->elements.empty()) {
    const HolderView holder = ReadHolder(holders->elements.front());
    text += "; " + screen.Quoted(holder.who.owner) + " has held it for " +
            ShowDuration(holder.held_ms) + ", lease left " +
            ShowTimeLeft(holder.ttl_ms, "without end");
  }
  text += "; " + std::to_string(IntegerOr(reply, "waiters")) + " waiting";
  const auto position = IntegerField(reply, "position");
  if (position) text += ", place " + std::to_string(*position) + " is yours";
  return text + "; `fairlockctl why` tells more";
}

// Asks again when the connection is lost, as it is when the server restarts, and while the server
// starts: it keeps the place in the queue for a while. A server that was never reached is not asked
// twice.
Result<protocol::Reply> AskUntilAnswered(LockOptions options, const HoldNames& names,
                                         Context& context) {
  Client& client = context.client;
  const TimeMs wait_until = NowMs() + options.words.wait_ms.value_or(0);
  TimeMs give_up_at = 0;
  while (true) {
    const std::vector<std::string> words = RequestOf(options, names);
    const std::vector<std::string_view> views(words.begin(), words.end());
    Result<protocol::Reply> reply =
        client.AskPlainly(views, PatienceFor(options.words.wait_ms, context));
    if (reply && !reply->IsError()) return reply;
    const Result<protocol::Reply> failure =
        reply ? ServerFailure(reply->text, client.ServerName()) : reply.failure();
    if (reply && !IsPassing(reply->text)) return failure;
    if (client.has_connected() && (!reply || give_up_at == 0)) {
      give_up_at = NowMs() + kUnreachableMs;
    }
    if (NowMs() >= std::min(give_up_at, wait_until)) return failure;
    std::this_thread::sleep_for(std::chrono::milliseconds(kAskAgainMs));
    if (*options.words.wait_ms < kForever) {
      options.words.wait_ms = std::max<DurationMs>(wait_until - NowMs(), 0);
    }
    if (reply) continue;
    // A hold of this owner may be the one that the lost connection asked for.
    options.is_new = false;
    client.Reconnect();
  }
}

Result<int> Lock(const LockOptions& options, Context& context) {
  if (options.is_replace && !options.max_waiters) {
    return Failure{kExitWrongUse, "--replace is that of --max-waiters"};
  }
  const Result<HoldNames> names = NamesOf(options.given);
  if (!names) return names.failure();
  const Result<protocol::Reply> reply = AskUntilAnswered(options, *names, context);
  if (!reply) return reply.failure();
  const auto token = IntegerField(*reply, "token");
  if (options.is_json) {
    context.PrintJson(json::ObjectOf(*reply));
  } else if (token) {
    context.Print(std::to_string(*token) + "\n");
  } else {
    context.Say(ExplainDenial(*names, *reply, context));
  }
  return token ? kExitDone : kExitNotObtained;
}

Action DescribeLock(Arguments& arguments) {
  auto options = std::make_shared<LockOptions>();
  AddHoldWords(arguments, options->given);
  AddLockWords(arguments, options->words);
  arguments.DurationOrForever("--wait,-w", options->words.wait_ms,
                              "Wait in line for so long; without it only try");
  arguments.Duration("--keep", options->keep_ms,
                     "If it cannot be had now, keep the place in line for so long");
  arguments.Number("--max-waiters", options->max_waiters, {0, kWaitersMax},
                   "Do not wait behind so many others");
  arguments.Flag("--replace", options->is_replace,
                 "With --max-waiters: put the newest waiter out of the line instead");
  arguments.Flag("--new", options->is_new, "Not if the owner holds it already");
  arguments.Text("--meta", options->meta, "A note that others see");
  arguments.Flag("--json", options->is_json, "As JSON: what LOCK ... EXPLAIN answers");
  return [options](Context& context) { return Lock(*options, context); };
}

// The others ask one question and get a number.

struct HoldOptions {
  HoldWords given;
  std::string key;  // of `wait`, which has no owner
  std::optional<std::int64_t> token;
  std::optional<DurationMs> duration_ms;
  bool is_json = false;
};

// Which number means yes, and what is said of another one.
struct Question {
  std::vector<std::string> words;
  std::int64_t yes = 1;
  std::string if_no;
  std::string_view field;  // of the number, in JSON
  DurationMs patience_ms = 0;
};

Result<int> Answer(const Question& question, boost::json::object asked, bool is_json,
                   Context& context) {
  const std::vector<std::string_view> views(question.words.begin(), question.words.end());
  const Result<protocol::Reply> reply = context.client.Ask(views, question.patience_ms);
  if (!reply) return reply.failure();
  if (is_json) {
    asked[question.field] = reply->integer;
    context.PrintJson(asked);
  } else if (reply->integer < question.yes) {
    context.Say(question.if_no);
  }
  return reply->integer >= question.yes ? kExitDone : kExitNo;
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

// Asks of all keys as one.
Result<int> AnswerOnKeys(std::string_view command, std::string_view field,
                         const HoldOptions& options, std::int64_t HoldCount(const HoldNames&),
                         Context& context) {
  const Result<HoldNames> names = NamesOf(options.given);
  if (!names) return names.failure();
  Question question{.words = RequestOn(command, names->keys),
                    .yes = HoldCount(*names),
                    .if_no = context.errors.Quoted(names->owner) + " does not hold " +
                             NameKeys(names->keys, context.errors) +
                             (options.token ? " with that token" : ""),
                    .field = field};
  question.words.push_back(names->owner);
  if (options.duration_ms) AddDuration(question.words, "PX", *options.duration_ms);
  if (options.token) {
    question.words.insert(question.words.end(), {"TOKEN", std::to_string(*options.token)});
  }
  return Answer(question, ObjectOf(*names), options.is_json, context);
}

// The server answers how many it has released.
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

// The place of a request for several keys ends as a whole, whichever of them is named.
Result<int> Cancel(const HoldOptions& options, Context& context) {
  const Result<HoldNames> names = NamesOf(options.given);
  if (!names) return names.failure();
  const std::string& key = names->keys.front();
  return Answer({.words = {"CANCEL", key, names->owner},
                 .if_no = context.errors.Quoted(names->owner) + " has no place in the line of " +
                          context.errors.Quoted(key),
                 .field = "cancelled"},
                ObjectOf(*names), options.is_json, context);
}

Result<int> Wait(const HoldOptions& options, Context& context) {
  const DurationMs wait_ms = options.duration_ms.value_or(kForever);
  Question question{.words = {"WAIT", options.key},
                    .if_no = context.errors.Quoted(options.key) + " is still held",
                    .field = "free",
                    .patience_ms = PatienceFor(wait_ms, context)};
  AddDuration(question.words, "TIMEOUT", wait_ms);
  boost::json::object asked;
  json::AddText(asked, "key", options.key);
  const Result<int> status = Answer(question, std::move(asked), options.is_json, context);
  if (status && *status == kExitNo) return kExitNotObtained;
  return status;
}

using RunHold = Result<int> (*)(const HoldOptions&, Context&);

Action DescribeHold(Arguments& arguments, bool has_token, bool has_lease, RunHold run) {
  auto options = std::make_shared<HoldOptions>();
  AddHoldWords(arguments, options->given);
  if (has_lease) {
    arguments.Lease("--ttl", options->duration_ms,
                    "The lease ends so long from now; without it, as long as before");
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
  arguments.Required("KEY", options->key, "The lock's name");
  arguments.DurationOrForever("--timeout,--wait,-w", options->duration_ms,
                              "No longer than that (forever)");
  arguments.Flag("--json", options->is_json, std::string(kJsonHelp));
  return [options](Context& context) { return Wait(*options, context); };
}

constexpr auto kLockCommands = std::to_array<CommandRow>({
    {"lock", kLocking, "Takes a lock, or several as one, and prints the token", DescribeLock},
    {"unlock", kLocking, "Releases a lock, or leaves its line", DescribeUnlock},
    {"renew", kLocking, "Lets a lease begin anew", DescribeRenew},
    {"wait", kLocking, "Waits until nobody holds the lock, without taking it", DescribeWait},
    {"cancel", kLocking, "Takes an owner out of a line", DescribeCancel},
});

}  // namespace

std::span<const CommandRow> LockCommands() { return kLockCommands; }

}  // namespace fairlock::cli
