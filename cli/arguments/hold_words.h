// Which keys a command is about, and for which owner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/arguments.h"
#include "cli/base/result.h"

namespace fairlock::cli {

// As they were given: KEY OWNER, KEY KEY OWNER, or with the options in their place.
struct HoldWords {
  std::vector<std::string> words;  // positional
  std::vector<std::string> keys;
  std::optional<std::string> owner;
};

struct HoldNames {
  std::vector<std::string> keys;
  std::string owner;
};

void AddHoldWords(Arguments& arguments, HoldWords& given);

// The last word is the owner, unless --owner or, for a single key, FAIRLOCK_OWNER names it. Words
// that could be read either way are refused.
Result<HoldNames> NamesOf(const HoldWords& given);

}  // namespace fairlock::cli
