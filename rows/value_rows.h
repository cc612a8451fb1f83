// The small values that survive a restart, as plain structs. server/values fills them, and restores
// its state from them; storage/records encodes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rows/lock_rows.h"

namespace fairlock::rows {

// The numbers are stored, so they must never change.
enum class ValueType : std::uint8_t { kHash = 1, kList = 2, kSortedSet = 3, kSet = 4 };

struct ValueId {
  std::uint8_t db = 0;
  std::string_view key;

  friend bool operator==(const ValueId&, const ValueId&) = default;
};

// A value. A small one is a row as a whole; the elements of a large one are rows of their own,
// which name its number. Views point into the values until their next change, or into the bytes
// that the row was decoded from.
struct Value {
  ValueId id = {};
  ValueType type = ValueType::kHash;
  DurationMs ttl_ms = 0;                        // the length on record; 0: it never expires
  std::optional<DurationMs> remaining_ms = {};  // absent: the time to live starts over
  // Of a large value, unlike that of any other value of its log; 0: `parts` has the elements.
  std::uint64_t number = 0;
  // Hash: each field and its value. List, set and sorted set: the elements, in their order.
  std::vector<std::string_view> parts = {};
  std::vector<double> scores = {};  // sorted set: the score of each element

  friend bool operator==(const Value&, const Value&) = default;
};

// One element of a large value.
struct Element {
  std::uint64_t value_number = 0;
  ValueType type = ValueType::kHash;
  std::string_view name = {};  // the field or member; empty for a list
  std::int64_t place = 0;      // list: places ascend from left to right
  std::string_view text = {};  // hash: the value of the field; list: the element
  double score = 0;            // sorted set

  friend bool operator==(const Element&, const Element&) = default;
};

}  // namespace fairlock::rows
