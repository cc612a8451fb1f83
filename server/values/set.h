// A small set of members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/values/hash.h"

namespace fairlock::values {

// As in Redis, a set is in ascending order while all its members have been whole numbers, in their
// only form; otherwise new members follow the older ones. Searching is linear; the functions
// for many members sort these first. A value type.
class Set {
 public:
  bool Has(std::string_view member) const;
  // Returns whether the member is new.
  bool Add(std::string_view member);
  // Adds members, in order. Returns how many are new.
  std::size_t AddAll(std::span<const std::string_view> members);
  // Returns whether there was such a member.
  bool Erase(std::string_view member);
  // Returns how many of these members there were.
  std::size_t EraseAll(std::span<const std::string_view> members);
  std::string EraseAt(std::size_t index);

  const std::vector<std::string>& members() const { return members_; }
  std::size_t size() const { return members_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  // REQUIRES: there is no such member.
  void Insert(std::string_view member);

  std::vector<std::string> members_;
  std::size_t bytes_ = 0;
  bool is_of_numbers_ = true;
};

// Parses a whole number without a plus sign or leading zeros.
std::optional<std::int64_t> ParsePlainNumber(std::string_view text);

}  // namespace fairlock::values
