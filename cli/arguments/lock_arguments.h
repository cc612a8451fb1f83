// The arguments that commands for locks share: keys and an owner, and the options of LOCK.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/arguments.h"
#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/output/screen.h"

namespace fairlock::cli {

struct LockArguments {
  std::optional<DurationMs> ttl_ms;
  std::optional<DurationMs> wait_ms;  // none or 0 means not to wait; kForever means without a limit
  std::optional<std::int64_t> limit;
  bool is_shared = false;
  std::optional<DurationMs> min_hold_ms;
  std::optional<std::int64_t> max_waiters;
  bool is_replace = false;  // with `max_waiters`
  std::optional<std::string> label;
};

// Declares all options but --wait, whose default differs between commands.
void AddLockArguments(Arguments& arguments, LockArguments& words);
// What is wrong with the combination of options. It is empty if nothing is.
std::string FindMistake(const LockArguments& words);
// What the reason of a denial means if it is about those options, as in "; --max-waiters permits no
// more waiters". It is empty for any other reason.
std::string MeaningOf(std::string_view reason);

// Appends an option with a duration: "KEEP 1500", in ms, or "KEEP FOREVER".
void AddDuration(std::vector<std::string>& words, std::string_view name, DurationMs duration_ms);

// "LOCK key" or, for several keys, "MLOCK 2 a b": returns the beginning of a request. The arguments
// after the keys are the same in both forms.
std::vector<std::string> RequestOn(std::string_view command, const std::vector<std::string>& keys);

std::vector<std::string> LockRequest(const std::vector<std::string>& keys, const std::string& owner,
                                     const LockArguments& words);

// An owner that no other process has, and that says where it runs: "web-3:4711:9f86d081".
std::string UniqueOwner();

// Returns "`fairlockctl why a`" for messages: the command that says more about the key.
std::string WhyCommand(const std::string& key);

// "'a', 'b' and 'c'", for messages.
std::string NameKeys(const std::vector<std::string>& keys, const Screen& screen);

// The keys and the owner that a command acts on. The arguments as given: KEY OWNER, KEY KEY OWNER,
// or options instead of some of these words.
struct HoldArguments {
  std::vector<std::string> words;  // positional
  std::vector<std::string> keys;
  std::optional<std::string> owner;
};

struct HoldNames {
  std::vector<std::string> keys;
  std::string owner;
};

void AddHoldArguments(Arguments& arguments, HoldArguments& given);

// The last word is the owner, unless --owner or, for a single key, FAIRLOCK_OWNER gives it.
// Ambiguous words are an error.
Result<HoldNames> NamesOf(const HoldArguments& given);

}  // namespace fairlock::cli
