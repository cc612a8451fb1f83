// The shapes of Redisson's locks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/types.h"
#include "server/values/library_locks.h"
#include "server/values/value.h"

namespace fairlock::values {

// Each returns whether the value, which has the right type, has the shape, and fills in the lock.
//
// RLock, RFencedLock, RFairLock and RReadWriteLock.
bool ReadRedissonLock(const Value& value, engine::TimeMs now_unix_ms, LibraryLock& lock);
// RPermitExpirableSemaphore.
bool ReadRedissonPermits(const Value& value, engine::TimeMs now_unix_ms, LibraryLock& lock);

// Each completes the plan, in which the ended holders are already set.
void PlanRedissonLock(const Value& value, const LibraryLock& lock, std::string_view first_waiter,
                      LibraryBreak& plan);
void PlanRedissonPermits(const Value& value, const LibraryLock& lock, std::string_view first_waiter,
                         LibraryBreak& plan);

}  // namespace fairlock::values
