// Durability: the engine returns the rows of holds, places and cooldowns, either for the names in
// the change log or in a walk over all locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/api/change_log.h"
#include "server/engine/api/row_sink.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class Snapshots {
 public:
  explicit Snapshots(EngineState& state) : state_(state) {}

  std::optional<rows::Hold> FindHoldRow(const ChangeLog::Name& name);
  std::optional<rows::Place> FindPlaceRow(const ChangeLog::PlaceName& name, std::string_view owner);
  std::optional<rows::Cooldown> FindCooldownRow(const ChangeLog::Name& name, TimeMs now);
  std::uint64_t ScanRows(std::uint64_t cursor, std::size_t count, const RowDetail& extent,
                         TimeMs now, RowSink& sink);
  // The same, but only for leases of at least `lease_ms_min` of which another tenth has passed
  // since `then`.
  std::uint64_t ScanLongLeases(std::uint64_t cursor, std::size_t count, DurationMs lease_ms_min,
                               TimeMs then, TimeMs now, RowSink& sink);

 private:
  rows::Hold RowOf(const LockEntry& lock, Hold& hold, bool with_time_left, TimeMs now) const;
  rows::Place RowOf(Claim& place) const;
  rows::Claim RowOf(const Claim& claim) const;
  static rows::Cooldown RowOf(Cooldown& cooldown, TimeMs now);
  void WriteRows(LockEntry& lock, const RowDetail& extent, TimeMs now, RowSink& sink);

  EngineState& state_;
};

}  // namespace fairlock::engine
