// The limits with which an operator has replaced those that clients gave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/glob.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

// If several overrides match a key, the most specific one is in force: one that names the key
// exactly, else the one with the most literal bytes, else the newest. There is at most one override
// for each database and pattern.
// Find is O(overrides) and may match the key against the pattern of each; the owner
// of this object bounds their number.
class LimitOverrides {
 public:
  bool empty() const { return !is_any_; }
  std::size_t size() const { return rows_.size(); }
  // The time at which the next override ends; kNever if none ends.
  TimeMs next_end() const { return next_end_; }
  // All overrides, the most specific first.
  const std::vector<LimitOverride>& all() const { return rows_; }

  bool Has(std::uint8_t db, std::string_view pattern) const;
  // The maximum number of bytes that Find compares.
  std::uint64_t CostMax() const;
  // Drains all keys until then, whatever the overrides say. Used after a start at which leases may
  // have been lost.
  void DrainAllUntil(TimeMs end);
  bool are_all_drained() const { return all_drained_until_ != 0; }
  // The limit in force for that key, if there is one.
  std::optional<std::uint32_t> Find(const KeyName& key) const;
  // Replaces an earlier override of the same database and pattern.
  void Set(LimitOverride row);
  // Returns whether there was such an override.
  bool Drop(std::uint8_t db, std::string_view pattern);
  // Drops the overrides that end at or before `last_tick`.
  void DropEnded(TimeMs last_tick);

 private:
  void Sum();

  std::vector<LimitOverride> rows_;
  std::vector<Glob> globs_;       // the parsed patterns of the rows, in the same order
  TimeMs all_drained_until_ = 0;  // 0: not drained
  TimeMs next_end_ = kNever;
  bool is_any_ = false;
};

}  // namespace fairlock::engine
