// A set of members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/values/hash.h"

namespace fairlock::values {

// Up to ElementTable::kFewElements members are in an order: as in Redis, in ascending order while
// all of them have been whole numbers, in their only form; otherwise new members follow the older
// ones. Movable.
class Set {
 public:
  using Members = IndexedView<Set, std::string>;

  bool Has(std::string_view member) const { return members_.Find(member) != nullptr; }
  // Returns whether the member is new.
  bool Add(std::string_view member);
  // Adds members, in order. Returns how many are new.
  std::size_t AddAll(std::span<const std::string_view> members);
  // Returns whether there was such a member.
  bool Erase(std::string_view member);
  // Returns how many of these members there were.
  std::size_t EraseAll(std::span<const std::string_view> members);
  std::string EraseAt(std::size_t index);

  Members members() const { return Members(*this); }
  const std::string& at(std::size_t index) const { return members_.at(index).name; }
  bool is_ordered() const { return members_.is_ordered(); }
  // For walks, as in ElementTable.
  const std::string& ByPosition(std::size_t position) const { return members_.at(position).name; }
  std::size_t size() const { return members_.size(); }
  std::size_t bytes() const { return bytes_; }

  // For ValueStore, which stores the elements.
  void LogElements() { changed_.TurnOn(); }
  void TakeChanged(const VisitElement& put, const VisitElement& erase);
  std::uint64_t VisitFrom(std::uint64_t cursor, std::size_t count, const VisitElement& visit) const;
  void Restore(const rows::Element& element) { Add(element.name); }
  std::size_t FreeSome(std::size_t elements_max) { return members_.FreeSome(elements_max); }

 private:
  struct Node {
    std::string name;
    std::uint32_t position = 0;

    static void Free(Node* node) { delete node; }
  };

  ElementTable<Node> members_;
  std::size_t bytes_ = 0;
  bool is_of_numbers_ = true;
  ChangedElements<std::string> changed_;
};

// Parses a whole number without a plus sign or leading zeros.
std::optional<std::int64_t> ParsePlainNumber(std::string_view text);

}  // namespace fairlock::values
