// Which leases have their time left stored while they run.
#pragma once

#include "server/engine/api/types.h"

namespace fairlock::persist {

// After a crash a lease begins anew. So that weekly crashes do not keep one alive for ever, those
// of at least ten minutes are written down again with each tenth that has passed.
inline constexpr engine::DurationMs kLongLeaseMs = 600'000;
inline constexpr engine::DurationMs kLongLeaseSweepMs = kLongLeaseMs / 10;

constexpr bool IsLongLease(engine::DurationMs lease_ms) { return lease_ms >= kLongLeaseMs; }

}  // namespace fairlock::persist
