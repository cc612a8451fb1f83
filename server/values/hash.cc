#include "server/values/hash.h"

#include <algorithm>
#include <limits>

namespace fairlock::values {

namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

}  // namespace

const std::string* Hash::Find(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  return found == fields_.end() ? nullptr : &found->value;
}

std::vector<const std::string*> Hash::FindAll(std::span<const std::string_view> names) const {
  std::vector<const std::string*> found(names.size());
  if (names.size() <= kFewNames) {
    for (std::size_t i = 0; i < names.size(); ++i) found[i] = Find(names[i]);
    return found;
  }
  const Names wanted(names);
  const auto positions = PositionsOf(wanted);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t at = positions[wanted.IndexOf(names[i])];
    if (at != kNone) found[i] = &fields_[at].value;
  }
  return found;
}

bool Hash::Set(std::string_view name, std::string_view value) {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  const bool is_new = found == fields_.end();
  is_new ? Append(name, value) : Replace(*found, value);
  return is_new;
}

std::size_t Hash::SetAll(std::span<const std::string_view> names_and_values) {
  const std::size_t before = size();
  if (names_and_values.size() <= 2 * kFewNames) {
    for (std::size_t i = 0; i < names_and_values.size(); i += 2) {
      Set(names_and_values[i], names_and_values[i + 1]);
    }
    return size() - before;
  }
  std::vector<std::string_view> all_names;
  for (std::size_t i = 0; i < names_and_values.size(); i += 2) {
    all_names.push_back(names_and_values[i]);
  }
  const Names names(all_names);
  auto positions = PositionsOf(names);
  for (std::size_t i = 0; i < names_and_values.size(); i += 2) {
    std::size_t& at = positions[names.IndexOf(names_and_values[i])];
    if (at != kNone) {
      Replace(fields_[at], names_and_values[i + 1]);
    } else {
      at = size();
      Append(names_and_values[i], names_and_values[i + 1]);
    }
  }
  return size() - before;
}

bool Hash::Erase(std::string_view name) {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  if (found == fields_.end()) return false;
  bytes_ -= found->name.size() + found->value.size() + kElementBytes;
  fields_.erase(found);
  return true;
}

std::size_t Hash::EraseAll(std::span<const std::string_view> names) {
  const std::size_t before = size();
  const Names unwanted(names);
  std::erase_if(fields_, [&](const Field& field) {
    if (!unwanted.Has(field.name)) return false;
    bytes_ -= field.name.size() + field.value.size() + kElementBytes;
    return true;
  });
  return before - size();
}

void Hash::Append(std::string_view name, std::string_view value) {
  fields_.push_back({std::string(name), std::string(value)});
  bytes_ += name.size() + value.size() + kElementBytes;
}

void Hash::Replace(Field& field, std::string_view value) {
  bytes_ += value.size();
  bytes_ -= field.value.size();
  field.value = value;
}

std::vector<std::size_t> Hash::PositionsOf(const Names& names) const {
  std::vector<std::size_t> positions(names.size() + 1, kNone);
  for (std::size_t i = 0; i < size(); ++i) positions[names.IndexOf(fields_[i].name)] = i;
  return positions;
}

}  // namespace fairlock::values
