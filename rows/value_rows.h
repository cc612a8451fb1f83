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

// A whole value. Views point into the values until their next change, or into the bytes that the
// row was decoded from.
struct Value {
  ValueId id = {};
  ValueType type = ValueType::kHash;
  DurationMs ttl_ms = 0;                        // the length on record; 0: it never expires
  std::optional<DurationMs> remaining_ms = {};  // absent: the time to live starts over
  // Hash: each field and its value. List, set and sorted set: the elements, in their order.
  std::vector<std::string_view> parts = {};
  std::vector<double> scores = {};  // sorted set: the score of each element

  friend bool operator==(const Value&, const Value&) = default;
};

}  // namespace fairlock::rows
