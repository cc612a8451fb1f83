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

// If several overrides match a key, the most specific one is in force: one that names the key, else
// the one with the most literal bytes, else the newest. There is one override for each database and
// pattern.
//
// Loop-confined. Find is O(overrides), each of which may cost a match of its pattern; the owner
// bounds how many there are.
class LimitOverrides {
 public:
  bool empty() const { return !is_any_; }
  std::size_t size() const { return rows_.size(); }
  // When the first of them ends; kNever if none does.
  TimeMs next_end() const { return next_end_; }
  // The most specific first.
  const std::vector<LimitOverride>& all() const { return rows_; }

  bool Has(std::uint8_t db, std::string_view pattern) const;
  // How many bytes Find compares at most.
  std::uint64_t CostMax() const;
  // All keys are drained until then, whatever the rows say: after a start that may have lost
  // leases.
  void DrainAllUntil(TimeMs end);
  bool are_all_drained() const { return all_drained_until_ != 0; }
  // The limit in force for that key, if any is.
  std::optional<std::uint32_t> Find(const KeyName& key) const;
  // In place of an earlier one of the same database and pattern.
  void Set(LimitOverride row);
  // True: there was one.
  bool Drop(std::uint8_t db, std::string_view pattern);
  // Drops those that end at `last_tick` or before.
  void DropEnded(TimeMs last_tick);

 private:
  void Sum();

  std::vector<LimitOverride> rows_;
  std::vector<Glob> globs_;       // of the rows, in their order
  TimeMs all_drained_until_ = 0;  // 0: they are not
  TimeMs next_end_ = kNever;
  bool is_any_ = false;
};

}  // namespace fairlock::engine
