// Durability: holds, places and cooldowns leave the engine by the names in the change log, or in a
// walk over all locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/api/change_log.h"
#include "server/engine/api/kept_state.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class Snapshots {
 public:
  explicit Snapshots(EngineState& state) : state_(state) {}

  std::optional<KeptHold> FindKeptHold(const ChangeLog::Name& name);
  std::optional<KeptPlace> FindKeptPlace(const ChangeLog::PlaceName& name, std::string_view owner);
  std::optional<KeptCooling> FindKeptCooling(const ChangeLog::Name& name, TimeMs now);
  std::uint64_t ScanKept(std::uint64_t cursor, std::size_t count, const KeptDetail& extent,
                         TimeMs now, KeptSink& sink);
  // The same for leases of at least `lease_ms_min` of which another tenth has passed since `then`.
  std::uint64_t ScanLongLeases(std::uint64_t cursor, std::size_t count, DurationMs lease_ms_min,
                               TimeMs then, TimeMs now, KeptSink& sink);

 private:
  KeptHold KeptOf(const LockEntry& lock, Hold& hold, bool with_time_left, TimeMs now) const;
  KeptPlace KeptOf(Claim& place) const;
  KeptClaim KeepOptions(const Claim& claim) const;
  void KeepAll(LockEntry& lock, const KeptDetail& extent, TimeMs now, KeptSink& sink);

  EngineState& state_;
};

}  // namespace fairlock::engine
