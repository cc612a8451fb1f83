// Durability: the engine returns the rows of holds, places and cooldowns, either for the names in
// the change log or in a walk over all locks.
//
// Holds, places and cooldowns have flags that say what the log may have of them, so that a later
// change is stored only if it must be. Only a row for a batch changes these flags. The row of a
// snapshot does not, because a restart may ignore it: when the snapshot has not been finished, and
// when an older batch, which is read after the snapshot, has another row of the same name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/api/change_log.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Snapshots : Rule {
 public:
  using Rule::Rule;

  // For a batch: the current row of an item in the change log, to replace its stored row; none: it
  // has ended.
  std::optional<rows::Hold> FindHoldRow(const ChangeLog::Name& name);
  std::optional<rows::Place> FindPlaceRow(const ChangeLog::PlaceName& name, std::string_view owner);
  std::optional<rows::Cooldown> FindCooldownRow(const ChangeLog::Name& name, TimeMs now);
  // For a snapshot: visits the rows of about `count` locks; the cursor works as in
  // Inspections::Scan.
  std::uint64_t ScanRows(std::uint64_t cursor, std::size_t count, const RowDetail& extent,
                         TimeMs now, RowSink& sink) const;
  // For a batch: only leases of at least `lease_ms_min` of which another tenth has passed since
  // `then`.
  std::uint64_t ScanLongLeases(std::uint64_t cursor, std::size_t count, DurationMs lease_ms_min,
                               TimeMs then, TimeMs now, RowSink& sink);

 private:
  rows::Hold RowOf(const LockEntry& lock, const Hold& hold, bool with_time_left, TimeMs now) const;
  rows::Place PlaceRowOf(const Claim& place) const;
  rows::Claim RowOf(const Claim& claim) const;
  static rows::Cooldown RowOf(const Cooldown& cooldown, TimeMs now);
  void WriteRows(const LockEntry& lock, const RowDetail& extent, TimeMs now, RowSink& sink) const;
};

}  // namespace fairlock::engine
