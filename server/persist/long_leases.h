// Defines for which leases the time left is stored while they run.
#pragma once

#include "server/engine/api/types.h"

namespace fairlock::persist {

// After a crash, a lease begins anew. So that weekly crashes do not keep a lease alive forever,
// leases of at least ten minutes are stored again whenever a further tenth has passed.
inline constexpr engine::DurationMs kLongLeaseMs = 600'000;
inline constexpr engine::DurationMs kLongLeaseSweepMs = kLongLeaseMs / 10;

constexpr bool IsLongLease(engine::DurationMs lease_ms) { return lease_ms >= kLongLeaseMs; }

}  // namespace fairlock::persist
