#include "cli/arguments/hold_words.h"

#include <cstdlib>

#include "cli/output/printable.h"

namespace fairlock::cli {

namespace {

constexpr const char* kOwnerVariable = "FAIRLOCK_OWNER";

Failure WrongUse(const std::string& text) { return {kExitWrongUse, text}; }

}  // namespace

void AddHoldWords(Arguments& arguments, HoldWords& given) {
  arguments.Words("KEY OWNER", given.words,
                  "The lock's name, or several, and last the owner who holds or waits");
  arguments.Texts("--key", given.keys, "The lock's name; once for each of several");
  arguments.Text("--owner,-o", given.owner,
                 "The owner; then all words are keys. FAIRLOCK_OWNER gives it for one key");
}

Result<HoldNames> NamesOf(const HoldWords& given) {
  HoldNames names{.keys = given.keys, .owner = given.owner.value_or("")};
  std::vector<std::string> words = given.words;
  const char* const variable = std::getenv(kOwnerVariable);
  const bool has_variable = variable != nullptr && *variable != '\0';
  if (!given.owner) {
    const std::size_t keys_with_owner = names.keys.empty() ? 2 : 1;
    if (has_variable && words.size() < keys_with_owner) {
      names.owner = variable;
    } else if (has_variable && words.size() > keys_with_owner) {
      return WrongUse("is " + Quoted(words.back()) + " a key or the owner? " + kOwnerVariable +
                      " is set: give the owner with --owner, or the keys with --key");
    } else if (words.size() >= keys_with_owner) {
      names.owner = words.back();
      words.pop_back();
    } else if (!words.empty() || !names.keys.empty()) {
      return WrongUse(std::string("OWNER is required: as the last word, with --owner or in ") +
                      kOwnerVariable);
    }
  }
  names.keys.insert(names.keys.end(), words.begin(), words.end());
  if (names.keys.empty()) return WrongUse("KEY is required: as the first word or with --key");
  if (names.owner.empty()) return WrongUse("OWNER must not be empty");
  return names;
}

}  // namespace fairlock::cli
