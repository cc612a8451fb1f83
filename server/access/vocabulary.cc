#include "server/access/vocabulary.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

namespace fairlock::access {

Vocabulary::Vocabulary(std::vector<NamedCommand> commands) : commands_(std::move(commands)) {
  assert(commands_.size() <= kCommandsMax);
}

CommandSet Vocabulary::Find(std::string_view name) const {
  CommandSet found;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const std::string_view other = commands_[i].name;
    const bool is_below =
        other.size() > name.size() && other.starts_with(name) && other[name.size()] == '|';
    if (other == name || is_below) found.set(i);
  }
  return found;
}

CommandSet Vocabulary::FindCategory(std::string_view category) const {
  CommandSet found;
  if (category == "all") return found.set();
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const auto& names = commands_[i].categories;
    if (std::ranges::find(names, category) != names.end()) found.set(i);
  }
  return found;
}

std::vector<std::string_view> Vocabulary::Categories() const {
  std::set<std::string_view> names;
  for (const NamedCommand& command : commands_) {
    names.insert(command.categories.begin(), command.categories.end());
  }
  return {names.begin(), names.end()};
}

}  // namespace fairlock::access
