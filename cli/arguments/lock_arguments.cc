#include "cli/arguments/lock_arguments.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <random>

#include "cli/output/printable.h"
#include "text/hexadecimal.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kLimitMax = 1'000'000;
constexpr std::int64_t kWaitersMax = 1'000'000;

}  // namespace

void AddLockArguments(Arguments& arguments, LockArguments& words) {
  arguments.Lease("--ttl", words.ttl_ms, "How long the lease lasts unless it is renewed (30s)");
  arguments.Number("--limit", words.limit, {1, kLimitMax},
                   "Share the lock with others, up to this many holders");
  arguments.Flag("--shared", words.is_shared, "Share the lock with others that use --shared");
  arguments.Duration("--min-hold", words.min_hold_ms,
                     "Grant the lock to nobody else for at least this long");
  arguments.Number("--max-waiters", words.max_waiters, {0, kWaitersMax},
                   "Do not wait if this many others are waiting");
  arguments.Flag("--replace", words.is_replace,
                 "With --max-waiters: take the place of the newest waiter instead");
  arguments.Text("--label", words.label, "Kind of lock, for the statistics");
}

std::string FindMistake(const LockArguments& words) {
  if (words.is_shared && words.limit) return "--shared and --limit cannot be given together";
  if (words.is_replace && !words.max_waiters) return "--replace needs --max-waiters";
  return "";
}

std::string MeaningOf(std::string_view reason) {
  return reason == "full" ? "; --max-waiters permits no more waiters" : "";
}

void AddDuration(std::vector<std::string>& words, std::string_view name, DurationMs duration_ms) {
  words.emplace_back(name);
  words.push_back(duration_ms >= kForever ? "FOREVER" : std::to_string(duration_ms));
}

std::vector<std::string> RequestOn(std::string_view command, const std::vector<std::string>& keys) {
  std::vector<std::string> request;
  if (keys.size() == 1) {
    request.emplace_back(command);
  } else {
    request = {"M" + std::string(command), std::to_string(keys.size())};
  }
  request.insert(request.end(), keys.begin(), keys.end());
  return request;
}

std::vector<std::string> LockRequest(const std::vector<std::string>& keys, const std::string& owner,
                                     const LockArguments& words) {
  std::vector<std::string> request = RequestOn("LOCK", keys);
  request.push_back(owner);
  if (words.ttl_ms) AddDuration(request, "PX", *words.ttl_ms);
  if (words.wait_ms && *words.wait_ms > 0) AddDuration(request, "WAIT", *words.wait_ms);
  if (words.limit) request.insert(request.end(), {"LIMIT", std::to_string(*words.limit)});
  if (words.is_shared) request.emplace_back("SHARED");
  if (words.min_hold_ms) AddDuration(request, "MINHOLD", *words.min_hold_ms);
  if (words.max_waiters) {
    request.insert(request.end(), {"MAXWAITERS", std::to_string(*words.max_waiters)});
    if (words.is_replace) request.emplace_back("REPLACE");
  }
  if (words.label) request.insert(request.end(), {"LABEL", *words.label});
  return request;
}

std::string UniqueOwner() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::random_device random;
  std::string owner = std::string(host.data()) + ":" + std::to_string(::getpid()) + ":";
  for (int digit = 0; digit < 12; ++digit) owner += text::kHexDigits[random() % 16];
  return owner;
}

std::string WhyCommand(const std::string& key) {
  return std::string("`fairlockctl why ") + (key.starts_with('-') ? "-- " : "") + ShellWord(key) +
         "`";
}

std::string NameKeys(const std::vector<std::string>& keys, const Screen& screen) {
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) text += i + 1 == keys.size() ? " and " : ", ";
    text += screen.Quoted(keys[i]);
  }
  return text;
}

namespace {

constexpr const char* kOwnerVariable = "FAIRLOCK_OWNER";

Failure WrongUse(const std::string& text) { return {kExitWrongUse, text}; }

}  // namespace

void AddHoldArguments(Arguments& arguments, HoldArguments& given) {
  arguments.Words("KEY|OWNER", given.words, "Names of one or more locks, followed by the owner");
  arguments.Texts("--key", given.keys, "Name of a lock; may be repeated");
  arguments.Text("--owner,-o", given.owner,
                 "Owner of the lock; with this option every word is a key. For a single key, "
                 "FAIRLOCK_OWNER can also give the owner");
}

Result<HoldNames> NamesOf(const HoldArguments& given) {
  HoldNames names{.keys = given.keys, .owner = given.owner.value_or("")};
  std::vector<std::string> words = given.words;
  const char* const variable = std::getenv(kOwnerVariable);
  const bool has_variable = variable != nullptr && *variable != '\0';
  if (!given.owner) {
    const std::size_t keys_with_owner = names.keys.empty() ? 2 : 1;
    if (has_variable && words.size() < keys_with_owner) {
      names.owner = variable;
    } else if (has_variable && words.size() > keys_with_owner) {
      return WrongUse(
          "give the owner with --owner, or the keys with --key: " + std::string(kOwnerVariable) +
          " is set, so " + Quoted(words.back()) + " could be a key or the owner");
    } else if (words.size() >= keys_with_owner) {
      names.owner = words.back();
      words.pop_back();
    } else if (!words.empty() || !names.keys.empty()) {
      return WrongUse(
          std::string("OWNER is required: give it as the last word, with --owner or in ") +
          kOwnerVariable);
    }
  }
  names.keys.insert(names.keys.end(), words.begin(), words.end());
  if (names.keys.empty())
    return WrongUse("KEY is required: give it as the first word or with --key");
  if (names.owner.empty()) return WrongUse("OWNER must not be empty");
  return names;
}

}  // namespace fairlock::cli
