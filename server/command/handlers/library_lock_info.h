// How LOCKINFO, LOCKED, QUEUE and POSITION see the locks of libraries, which are small values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "server/command/handlers/library_waiters.h"
#include "server/engine/api/inspection.h"
#include "server/values/library_locks.h"

namespace fairlock::command {

// The time until the hold ends; none: it has no end.
std::optional<engine::DurationMs> LibraryLeaseLeft(const values::Value& value,
                                                   const values::LibraryHolder& holder,
                                                   engine::TimeMs now, engine::TimeMs now_unix_ms);
// How many holders the lock may have; 1 if nothing tells.
std::uint32_t LibraryLimit(const AskedKey& asked, const values::LibraryLock& lock);

// The type of the value that the key has, as TYPE names it; empty: it has none.
std::string_view TypeOfValue(const AskedKey& asked);

// In each of the functions below, nullopt means that the key is not that of a library's lock.

struct LibraryLockInfo {
  engine::LockInfo info = {};  // has views of `lock`
  values::LibraryLock lock = {};
};

// What LOCKINFO reports: at most `holders_max` holders.
std::optional<LibraryLockInfo> InspectLibraryLock(const AskedKey& asked, std::size_t holders_max);
// The number of holders, or whether that owner is one.
std::optional<std::uint64_t> CountLibraryHolders(const AskedKey& asked,
                                                 std::optional<std::string_view> owner);
// Places `start` .. `start + count - 1`, counted from 0.
std::optional<std::vector<engine::PlaceInfo>> LibraryQueueOf(const AskedKey& asked,
                                                             std::uint64_t start,
                                                             std::uint64_t count);

struct LibraryPosition {
  std::optional<std::uint64_t> position;  // as Inspections::Position
};
std::optional<LibraryPosition> LibraryPositionOf(const AskedKey& asked, std::string_view owner);

}  // namespace fairlock::command
