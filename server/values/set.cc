#include "server/values/set.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace fairlock::values {

namespace {

// A larger set is not in ascending order in Redis either.
constexpr std::size_t kNumbersMax = 512;

}  // namespace

std::optional<std::int64_t> ParsePlainNumber(std::string_view text) {
  constexpr std::size_t kDigitsMax = 20;
  if (text.empty() || text.size() > kDigitsMax) return std::nullopt;
  const std::string_view digits = text.substr(text[0] == '-' ? 1 : 0);
  if (digits.empty() || (digits[0] == '0' && text.size() > 1)) return std::nullopt;
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc{} || end.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

bool Set::Has(std::string_view member) const {
  return std::ranges::find(members_, member) != members_.end();
}

bool Set::Add(std::string_view member) {
  if (Has(member)) return false;
  Insert(member);
  return true;
}

std::size_t Set::AddAll(std::span<const std::string_view> members) {
  const std::size_t before = size();
  if (members.size() <= kFewNames) {
    for (const std::string_view member : members) Add(member);
    return size() - before;
  }
  const Names names(members);
  std::vector<bool> is_there(names.size() + 1);  // the last one is no name's
  for (const std::string& member : members_) is_there[names.IndexOf(member)] = true;
  for (const std::string_view member : members) {
    const std::size_t index = names.IndexOf(member);
    if (!is_there[index]) Insert(member);
    is_there[index] = true;
  }
  return size() - before;
}

void Set::Insert(std::string_view member) {
  bytes_ += member.size() + kElementBytes;
  const auto number = ParsePlainNumber(member);
  is_of_numbers_ = is_of_numbers_ && number && members_.size() < kNumbersMax;
  if (!is_of_numbers_) {
    members_.emplace_back(member);
    return;
  }
  const auto number_of = [](const std::string& text) { return *ParsePlainNumber(text); };
  members_.emplace(std::ranges::upper_bound(members_, *number, {}, number_of), member);
}

bool Set::Erase(std::string_view member) {
  const auto found = std::ranges::find(members_, member);
  if (found == members_.end()) return false;
  EraseAt(static_cast<std::size_t>(found - members_.begin()));
  return true;
}

std::size_t Set::EraseAll(std::span<const std::string_view> members) {
  const std::size_t before = size();
  const Names unwanted(members);
  std::erase_if(members_, [&](const std::string& member) {
    if (!unwanted.Has(member)) return false;
    bytes_ -= member.size() + kElementBytes;
    return true;
  });
  return before - size();
}

std::string Set::EraseAt(std::size_t index) {
  const auto at = members_.begin() + static_cast<std::ptrdiff_t>(index);
  std::string member = std::move(*at);
  bytes_ -= member.size() + kElementBytes;
  members_.erase(at);
  return member;
}

}  // namespace fairlock::values
