// The columns of a row of LOCKS, which the server writes, and fairlockctl and the HTTP API read.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <string_view>

#include "protocol/field.h"
#include "protocol/reply.h"

namespace fairlock::protocol {

// The table of the columns. A row of LOCKS is an array of their values in this order, so a new
// column is added at the end. The optional columns are those of a library's lock: the row of any
// other lock has nil there, and nothing if no other column follows.
struct LockColumns : FieldTable {
  // `visit` is called with each column and a function that reads it from the lock to be shown.
  template <typename Visit>
  static constexpr void ForEach(Visit&& visit) {
    visit(Field{"key", kText}, [](const auto& lock) { return lock.key.bytes; });
    visit(Field{"holders", kInteger}, [](const auto& lock) { return lock.holder_count; });
    visit(Field{"waiters", kInteger}, [](const auto& lock) { return lock.waiter_count; });
    visit(Field{"longest_wait_ms", kInteger, "Longest wait of the current waiters"},
          [](const auto& lock) { return lock.longest_wait_ms; });
    visit(Field{"oldest_hold_ms", kInteger, "Duration of the oldest current hold"},
          [](const auto& lock) { return lock.oldest_hold_ms; });
    visit(Field{"label", kText, "Label of the oldest hold", kMayBeNull},
          [](const auto& lock) { return lock.label; });
    visit(Field{"limit", kInteger}, [](const auto& lock) { return lock.limit; });
    visit(Field{"first_owner", kText, "The oldest holder", kMayBeNull},
          [](const auto& lock) { return lock.first_owner; });
    visit(Field{"db", kInteger}, [](const auto& lock) { return lock.key.db; });
    visit(Field{"library", kText, "Of a lock that is a small value: the library", false,
                kMayBeMissing},
          [](const auto& lock) { return lock.library; });
    visit(Field{"ttl_ms", kInteger, "With library: time until the last hold ends; null: no end",
                kMayBeNull, kMayBeMissing},
          [](const auto& lock) { return lock.ttl_ms; });
  }
};

inline constexpr auto kLockColumns = FieldsOf<LockColumns>();

// Returns the index of the column in a row. It does not compile if there is no such column.
consteval std::size_t LockColumn(std::string_view name) {
  const auto* found = std::ranges::find(kLockColumns, name, &Field::name);
  assert(found != kLockColumns.end());
  return static_cast<std::size_t>(found - kLockColumns.begin());
}

// Whether a row is that of a library's lock.
inline bool IsOfLibrary(const Reply& row) {
  constexpr std::size_t kLibrary = LockColumn("library");
  return row.elements.size() > kLibrary && !row.elements[kLibrary].IsNull();
}

// Calls `visit` with the name and the value of each column that the lock has.
template <typename Visit>
void ForEachColumn(const Reply& row, Visit&& visit) {
  const bool is_of_library = IsOfLibrary(row);
  for (std::size_t i = 0; i < std::min(kLockColumns.size(), row.elements.size()); ++i) {
    if (kLockColumns[i].is_optional && !is_of_library) continue;
    visit(kLockColumns[i].name, row.elements[i]);
  }
}

}  // namespace fairlock::protocol
