#include "server/values/hash.h"

#include <algorithm>

namespace fairlock::values {

const std::string* Hash::Find(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  return found == fields_.end() ? nullptr : &found->value;
}

bool Hash::Set(std::string_view name, std::string_view value) {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  if (found != fields_.end()) {
    bytes_ += value.size();
    bytes_ -= found->value.size();
    found->value = value;
    return false;
  }
  fields_.push_back({std::string(name), std::string(value)});
  bytes_ += name.size() + value.size() + kElementBytes;
  return true;
}

bool Hash::Erase(std::string_view name) {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  if (found == fields_.end()) return false;
  bytes_ -= found->name.size() + found->value.size() + kElementBytes;
  fields_.erase(found);
  return true;
}

}  // namespace fairlock::values
