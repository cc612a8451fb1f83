// The commands and categories that ACL rules may name.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::access {

inline constexpr std::size_t kCommandsMax = 512;

// A set of commands, by their numbers in the vocabulary.
using CommandSet = std::bitset<kCommandsMax>;

struct NamedCommand {
  std::string name;  // lower case; a subcommand follows its command: "client|list"
  std::vector<std::string_view> categories;  // without '@'
};

// Immutable.
class Vocabulary {
 public:
  // REQUIRES: at most kCommandsMax commands.
  explicit Vocabulary(std::vector<NamedCommand> commands);

  const std::vector<NamedCommand>& commands() const { return commands_; }

  // Returns the command with that lower-case name and its subcommands; empty if there is none.
  CommandSet Find(std::string_view name) const;
  // Returns the commands in a category, which may be "all"; empty if there is no such category.
  CommandSet FindCategory(std::string_view category) const;
  // Sorted alphabetically.
  std::vector<std::string_view> Categories() const;

 private:
  const std::vector<NamedCommand> commands_;
};

}  // namespace fairlock::access
