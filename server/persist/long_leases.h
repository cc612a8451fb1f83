// Defines the leases whose remaining time is stored while they run.
#pragma once

#include "server/engine/api/types.h"

namespace fairlock::persist {

// After a crash, a lease starts over. To prevent weekly crashes from keeping a lease alive forever,
// leases of at least ten minutes are stored again whenever another tenth of them has passed.
inline constexpr engine::DurationMs kLongLeaseMs = 600'000;
inline constexpr engine::DurationMs kLongLeaseSweepMs = kLongLeaseMs / 10;

constexpr bool IsLongLease(engine::DurationMs lease_ms) { return lease_ms >= kLongLeaseMs; }

}  // namespace fairlock::persist
