// How LOCKS shows the locks of libraries, which are small values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/locks/lock_replies.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/inspection.h"
#include "server/values/library_locks.h"

namespace fairlock::command {

struct LibraryRow {
  std::uint8_t db = 0;
  std::string key;
  values::LibraryLock lock = {};
  std::uint64_t waiter_count = 0;
  engine::DurationMs oldest_hold_ms = 0;          // 0 if the shape does not tell
  std::optional<engine::DurationMs> ttl_ms = {};  // of the hold that ends last; none: no end
  std::uint32_t limit = 1;
};

// Examines about `count` values from `cursor` on, 0 at the beginning, and sets `rows` to the locks
// that pass the filter and that the client may read. Returns the next cursor, 0 at the end.
std::uint64_t WalkLibraryLocks(Invocation& call, std::uint64_t cursor, std::size_t count,
                               const engine::LockFilter& filter, GlobWalk& walk,
                               std::vector<LibraryRow>& rows);

// The row of LOCKS, which has views of `row`.
LockRow ShownRowOf(const LibraryRow& row);

}  // namespace fairlock::command
