// The commands and categories that the rules of users may name.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::access {

inline constexpr std::size_t kCommandsMax = 256;

// By their numbers in the vocabulary.
using CommandSet = std::bitset<kCommandsMax>;

struct NamedCommand {
  std::string name;  // lower case; what belongs to another stands behind it: "client|list"
  std::vector<std::string_view> categories;  // without '@'
};

// Immutable.
class Vocabulary {
 public:
  // REQUIRES: at most kCommandsMax.
  explicit Vocabulary(std::vector<NamedCommand> commands);

  const std::vector<NamedCommand>& commands() const { return commands_; }

  // The command of that name, in lower case, and what belongs to it; none: there is none such.
  CommandSet Find(std::string_view name) const;
  // Those in a category, "all" is one; none: there is none such.
  CommandSet FindCategory(std::string_view category) const;
  // In the order of the alphabet.
  std::vector<std::string_view> Categories() const;

 private:
  const std::vector<NamedCommand> commands_;
};

}  // namespace fairlock::access
