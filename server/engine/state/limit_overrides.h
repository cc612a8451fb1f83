// The limits that an operator has put in place of those that clients gave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/glob.h"
#include "server/engine/api/limit_override.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

// If several overrides match a key, the most specific one is in force: one that names the key
// exactly, else the one with the most literal bytes, else the newest. There is at most one override
// for each database and pattern.
//
// Loop-confined. Find is O(overrides), each of which may cost a match of its pattern; the owner
// bounds their number.
class LimitOverrides {
 public:
  bool empty() const { return !is_any_; }
  std::size_t size() const { return rows_.size(); }
  // When the next of them ends; kNever if none ends.
  TimeMs next_end() const { return next_end_; }
  // The most specific first.
  const std::vector<LimitOverride>& all() const { return rows_; }

  bool Has(std::uint8_t db, std::string_view pattern) const;
  // The maximum number of bytes that Find compares.
  std::uint64_t CostMax() const;
  // Drains all keys until then, whatever the rows say: for a start after which leases may have been
  // lost.
  void DrainAllUntil(TimeMs end);
  bool are_all_drained() const { return all_drained_until_ != 0; }
  // The limit in force for that key, if there is one.
  std::optional<std::uint32_t> Find(const KeyName& key) const;
  // Replaces an earlier override of the same database and pattern.
  void Set(LimitOverride row);
  // True: there was one.
  bool Drop(std::uint8_t db, std::string_view pattern);
  // Drops those that end at `last_tick` or before.
  void DropEnded(TimeMs last_tick);

 private:
  void Sum();

  std::vector<LimitOverride> rows_;
  std::vector<Glob> globs_;       // of the rows, in the same order
  TimeMs all_drained_until_ = 0;  // 0: not drained
  TimeMs next_end_ = kNever;
  bool is_any_ = false;
};

}  // namespace fairlock::engine
