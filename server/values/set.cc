#include "server/values/set.h"

#include <utility>

#include "text/number.h"

namespace fairlock::values {

std::optional<std::int64_t> ParsePlainNumber(std::string_view text) {
  constexpr std::size_t kDigitsMax = 20;
  if (text.empty() || text.size() > kDigitsMax) return std::nullopt;
  const std::string_view digits = text.substr(text[0] == '-' ? 1 : 0);
  if (digits.empty() || (digits[0] == '0' && text.size() > 1)) return std::nullopt;
  return text::ParseNumber<std::int64_t>(text);
}

bool Set::Add(std::string_view member) {
  if (Has(member)) return false;
  changed_.Note(member);
  bytes_ += member.size() + kElementBytes;
  auto* node = new Node{std::string(member)};
  const auto number = is_of_numbers_ ? ParsePlainNumber(member) : std::nullopt;
  is_of_numbers_ = number && size() < ElementTable<Node>::kFewElements;
  if (!is_of_numbers_) {
    members_.Add(*node);
    return true;
  }
  std::size_t first = 0;
  std::size_t end = size();
  while (first < end) {
    const std::size_t middle = (first + end) / 2;
    *ParsePlainNumber(at(middle)) < *number ? first = middle + 1 : end = middle;
  }
  members_.Insert(*node, first);
  return true;
}

std::size_t Set::AddAll(std::span<const std::string_view> members) {
  const std::size_t before = size();
  for (const std::string_view member : members) Add(member);
  return size() - before;
}

bool Set::Erase(std::string_view member) {
  const Node* node = members_.Find(member);
  if (node == nullptr) return false;
  EraseAt(node->position);
  return true;
}

std::size_t Set::EraseAll(std::span<const std::string_view> members) {
  const std::size_t before = size();
  for (const std::string_view member : members) Erase(member);
  return before - size();
}

std::string Set::EraseAt(std::size_t index) {
  Node& node = members_.at(index);
  changed_.Note(node.name);
  bytes_ -= node.name.size() + kElementBytes;
  members_.Remove(node);
  std::string member = std::move(node.name);
  Node::Free(&node);
  return member;
}

void Set::TakeChanged(const VisitElement& put, const VisitElement& erase) {
  for (const std::string& name : changed_.Take()) {
    const rows::Element element{.type = rows::ValueType::kSet, .name = name};
    Has(name) ? put(element) : erase(element);
  }
}

std::uint64_t Set::VisitFrom(std::uint64_t cursor, std::size_t count,
                             const VisitElement& visit) const {
  // A new number moves the greater ones up, so these few are visited at once.
  if (is_of_numbers_) {
    cursor = 0;
    count = size();
  }
  return VisitBackwards(size(), cursor, count, [&](std::size_t position) {
    visit({.type = rows::ValueType::kSet, .name = at(position)});
  });
}

}  // namespace fairlock::values
