// The options of a LOCK that `lock` and `run` have in common.
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

struct LockWords {
  std::optional<DurationMs> ttl_ms;
  std::optional<DurationMs> wait_ms;  // kForever: without end; none or 0: only a try
  std::optional<std::int64_t> limit;
  bool is_shared = false;
  std::optional<DurationMs> min_hold_ms;
  std::optional<std::string> label;
};

// All but the wait, whose default is the command's own.
void AddLockWords(Arguments& arguments, LockWords& words);

// "KEEP 1500": in ms, or FOREVER.
void AddDuration(std::vector<std::string>& words, std::string_view name, DurationMs duration_ms);

// "LOCK key" or, of several keys, "MLOCK 2 a b": a command on all of them, which for several begins
// with an M. What follows the keys is the same.
std::vector<std::string> RequestOn(std::string_view command, const std::vector<std::string>& keys);

std::vector<std::string> LockRequest(const std::vector<std::string>& keys, const std::string& owner,
                                     const LockWords& words);

// "'a', 'b' and 'c'", for messages.
std::string NameKeys(const std::vector<std::string>& keys, const Screen& screen);

}  // namespace fairlock::cli
