// The keys and the owner that a command acts on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/arguments.h"
#include "cli/base/result.h"

namespace fairlock::cli {

// The arguments as given: KEY OWNER, KEY KEY OWNER, or options instead of some of these words.
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
