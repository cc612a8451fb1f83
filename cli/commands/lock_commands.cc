// `lock`, `unlock`, `renew`, `wait`, `cancel`: what a program does with a lock, by hand.
#include <array>
#include <memory>

#include "cli/claim_tables.h"
#include "cli/commands/all_commands.h"
#include "cli/duration.h"
#include "cli/lock_words.h"
#include "cli/reply_fields.h"
#include "json/reply_json.h"

namespace fairlock::cli {

namespace {

constexpr std::string_view kOwnerVariable = "FAIRLOCK_OWNER";
constexpr std::string_view kOwnerHelp = "Who holds or waits; the environment's FAIRLOCK_OWNER";
constexpr std::int64_t kTokenMax = std::int64_t{1} << 53;
constexpr std::int64_t kWaitersMax = 1'000'000;
// What the server may take beyond the time that it was asked to wait.
constexpr DurationMs kSlackMs = 10'000;

void AddOwner(Arguments& arguments, std::string& owner) {
  arguments.RequiredFromAnywhere("OWNER", std::string(kOwnerVariable), owner,
                                 std::string(kOwnerHelp));
}

DurationMs PatienceFor(const std::optional<DurationMs>& wait_ms, const Context& context) {
  if (!wait_ms) return 0;
  return *wait_ms >= kForever ? kForever : *wait_ms + context.settings.timeout_ms + kSlackMs;
}

// LOCK

struct LockOptions {
  std::string key;
  std::string owner;
  LockWords words;
  std::optional<DurationMs> keep_ms;
  std::optional<std::int64_t> max_waiters;
  std::optional<std::string> meta;
  bool is_replace = false;
  bool is_new = false;
  bool is_json = false;
};

std::vector<std::string> RequestOf(const LockOptions& options) {
  std::vector<std::string> words = LockRequest(options.key, options.owner, options.words);
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

std::string ExplainDenial(const LockOptions& options, const protocol::Reply& reply,
                          const Context& context) {
  const Screen& screen = context.errors;
  const bool is_over = TextField(reply, "status") == "timeout";
  std::string text = screen.Quoted(options.key) + " was not obtained" + (is_over ? " in time" : "");
  const std::string reason = TextField(reply, "reason");
  if (!reason.empty()) text += ": " + reason;
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

Result<int> Lock(const LockOptions& options, Context& context) {
  if (options.is_replace && !options.max_waiters) {
    return Failure{kExitWrongUse, "--replace is that of --max-waiters"};
  }
  const std::vector<std::string> words = RequestOf(options);
  const std::vector<std::string_view> views(words.begin(), words.end());
  const Result<protocol::Reply> reply =
      context.client.Ask(views, PatienceFor(options.words.wait_ms, context));
  if (!reply) return reply.failure();
  const auto token = IntegerField(*reply, "token");
  if (options.is_json) {
    context.Print(json::Written(json::ObjectOf(*reply)) + "\n");
  } else if (token) {
    context.Print(std::to_string(*token) + "\n");
  } else {
    context.Say(ExplainDenial(options, *reply, context));
  }
  return token ? kExitDone : kExitNotObtained;
}

Action DescribeLock(Arguments& arguments) {
  auto options = std::make_shared<LockOptions>();
  arguments.Required("KEY", options->key, "The lock's name");
  AddOwner(arguments, options->owner);
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
  std::string key;
  std::string owner;
  std::optional<std::int64_t> token;
  std::optional<DurationMs> duration_ms;
};

Result<int> AnswerYesOrNo(const std::vector<std::string>& words, Context& context,
                          const std::string& if_no, DurationMs patience_ms = 0) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  const Result<protocol::Reply> reply = context.client.Ask(views, patience_ms);
  if (!reply) return reply.failure();
  if (reply->integer != 0) return kExitDone;
  context.Say(if_no);
  return kExitNo;
}

void AddToken(std::vector<std::string>& words, const HoldOptions& options) {
  if (options.token) words.insert(words.end(), {"TOKEN", std::to_string(*options.token)});
}

std::string NotHeld(const HoldOptions& options, const Context& context) {
  return context.errors.Quoted(options.owner) + " does not hold " +
         context.errors.Quoted(options.key) + (options.token ? " with that token" : "");
}

Result<int> Unlock(const HoldOptions& options, Context& context) {
  std::vector<std::string> words = {"UNLOCK", options.key, options.owner};
  AddToken(words, options);
  return AnswerYesOrNo(words, context, NotHeld(options, context));
}

Result<int> Renew(const HoldOptions& options, Context& context) {
  std::vector<std::string> words = {"RENEW", options.key, options.owner};
  if (options.duration_ms) AddDuration(words, "PX", *options.duration_ms);
  AddToken(words, options);
  return AnswerYesOrNo(words, context, NotHeld(options, context));
}

Result<int> Cancel(const HoldOptions& options, Context& context) {
  return AnswerYesOrNo({"CANCEL", options.key, options.owner}, context,
                       context.errors.Quoted(options.owner) + " has no place in the line of " +
                           context.errors.Quoted(options.key));
}

Result<int> Wait(const HoldOptions& options, Context& context) {
  std::vector<std::string> words = {"WAIT", options.key};
  const DurationMs wait_ms = options.duration_ms.value_or(kForever);
  AddDuration(words, "TIMEOUT", wait_ms);
  const Result<int> status =
      AnswerYesOrNo(words, context, context.errors.Quoted(options.key) + " is still held",
                    PatienceFor(wait_ms, context));
  if (status && *status == kExitNo) return kExitNotObtained;
  return status;
}

Action DescribeUnlock(Arguments& arguments) {
  auto options = std::make_shared<HoldOptions>();
  arguments.Required("KEY", options->key, "The lock's name");
  AddOwner(arguments, options->owner);
  arguments.Number("--token", options->token, {1, kTokenMax}, "Only the hold with this token");
  return [options](Context& context) { return Unlock(*options, context); };
}

Action DescribeRenew(Arguments& arguments) {
  auto options = std::make_shared<HoldOptions>();
  arguments.Required("KEY", options->key, "The lock's name");
  AddOwner(arguments, options->owner);
  arguments.Lease("--ttl", options->duration_ms,
                  "The lease ends so long from now; without it, as long as before");
  arguments.Number("--token", options->token, {1, kTokenMax}, "Only the hold with this token");
  return [options](Context& context) { return Renew(*options, context); };
}

Action DescribeWait(Arguments& arguments) {
  auto options = std::make_shared<HoldOptions>();
  arguments.Required("KEY", options->key, "The lock's name");
  arguments.DurationOrForever("--timeout,-w", options->duration_ms,
                              "No longer than that (forever)");
  return [options](Context& context) { return Wait(*options, context); };
}

Action DescribeCancel(Arguments& arguments) {
  auto options = std::make_shared<HoldOptions>();
  arguments.Required("KEY", options->key, "The lock's name");
  AddOwner(arguments, options->owner);
  return [options](Context& context) { return Cancel(*options, context); };
}

constexpr auto kLockCommands = std::to_array<CommandRow>({
    {"lock", kLocking, "Takes a lock and prints its token", DescribeLock},
    {"unlock", kLocking, "Releases a lock, or leaves its line", DescribeUnlock},
    {"renew", kLocking, "Lets a lease begin anew", DescribeRenew},
    {"wait", kLocking, "Waits until nobody holds the lock, without taking it", DescribeWait},
    {"cancel", kLocking, "Takes an owner out of a line", DescribeCancel},
});

}  // namespace

std::span<const CommandRow> LockCommands() { return kLockCommands; }

}  // namespace fairlock::cli
