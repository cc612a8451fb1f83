// The options of LOCK that `lock` and `run` share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/arguments.h"
#include "cli/base/clock.h"
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

// What the reason `full` means.
inline constexpr std::string_view kFullText = "--max-waiters permits no more waiters";

// Declares all options but --wait, whose default differs between commands, and --replace.
void AddLockArguments(Arguments& arguments, LockArguments& words);

// Appends an option with a duration: "KEEP 1500", in ms, or "KEEP FOREVER".
void AddDuration(std::vector<std::string>& words, std::string_view name, DurationMs duration_ms);

// "LOCK key" or, for several keys, "MLOCK 2 a b": returns the beginning of a request. The arguments
// after the keys are the same in both forms.
std::vector<std::string> RequestOn(std::string_view command, const std::vector<std::string>& keys);

std::vector<std::string> LockRequest(const std::vector<std::string>& keys, const std::string& owner,
                                     const LockArguments& words);

// Returns "`fairlockctl why a`" for messages: the command that says more about the key.
std::string WhyCommand(const std::string& key);

// "'a', 'b' and 'c'", for messages.
std::string NameKeys(const std::vector<std::string>& keys, const Screen& screen);

}  // namespace fairlock::cli
