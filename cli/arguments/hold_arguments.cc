#include "cli/arguments/hold_arguments.h"

#include <cstdlib>

#include "cli/output/printable.h"

namespace fairlock::cli {

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
