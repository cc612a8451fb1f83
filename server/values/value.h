// One value: its name, its content, and when it expires.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "rows/value_rows.h"
#include "server/engine/api/types.h"
#include "server/engine/containers/timer_wheel.h"
#include "server/values/hash.h"
#include "server/values/list.h"
#include "server/values/set.h"
#include "server/values/sorted_set.h"

namespace fairlock::values {

using rows::ValueType;

// In the order of ValueType.
using Content = std::variant<Hash, List, SortedSet, Set>;

// Links the values that have changed since they were last stored.
using ChangedHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct ChangedTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// Owned by the store. After changing the content, call ValueStore::NoticeChange; a value without
// elements must be removed.
class Value final : public engine::TimerNode, public ChangedHook {
 public:
  Value(const engine::KeyName& name, std::uint64_t hash, Content initial)
      : TimerNode(0, false),
        content(std::move(initial)),
        key_(name.bytes),
        hash_(hash),
        db_(name.db) {}

  engine::KeyName name() const { return {db_, key_, hash_}; }
  std::uint64_t hash() const { return hash_; }
  ValueType type() const { return static_cast<ValueType>(content.index() + 1); }
  std::size_t size() const {
    return std::visit([](const auto& each) { return each.size(); }, content);
  }
  std::size_t bytes() const {
    return std::visit([](const auto& each) { return each.bytes(); }, content);
  }
  bool expires() const { return deadline() < engine::kNever; }

  Content content;
  engine::DurationMs ttl_ms = 0;  // the length on record; 0 if it never expires
  bool is_stored = false;         // the log may have a row of it
  // The number of a large value, whose elements have rows of their own that name it. 0 if the value
  // is small and is stored as one row. Once large, a value stays so.
  std::uint64_t number = 0;
  bool is_head_changed = true;  // more than elements must be stored
  // The log may have a row with the time left; until the next row, setting any time is a change.
  bool is_remaining_stored = false;

 private:
  std::string key_;
  std::uint64_t hash_;
  std::uint8_t db_;
};

}  // namespace fairlock::values
