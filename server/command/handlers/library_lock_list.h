// How LOCKS and LOCKINFO show the locks of libraries, which are small values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "server/access/user.h"
#include "server/command/server_parts.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/inspection.h"
#include "server/values/library_locks.h"

namespace fairlock::command {

struct LibraryRow {
  const values::Value* value = nullptr;
  values::LibraryLock lock = {};
  std::uint64_t waiter_count = 0;
  engine::DurationMs oldest_hold_ms = 0;  // 0 if the shape does not tell
};

// Examines about `count` values from `cursor` on, 0 at the beginning, and sets `rows` to the locks
// that pass the filter and that the client may read. Returns the next cursor, 0 at the end.
std::uint64_t WalkLibraryLocks(Invocation& call, std::uint64_t cursor, std::size_t count,
                               const engine::LockFilter& filter, GlobWalk& walk,
                               std::vector<LibraryRow>& rows);

struct LibraryLockInfo {
  engine::LockInfo info = {};
  std::string_view library;
};

// What LOCKINFO reports on that key: at most `holders_max` holders. The user's permissions decide
// whether waiters are counted. Nullopt: the key is not that of a library's lock.
std::optional<LibraryLockInfo> InspectLibraryLock(ServerParts& server, const access::User& user,
                                                  const engine::KeyName& key,
                                                  std::size_t holders_max, engine::TimeMs now);

// Writes a row of LOCKS. It has two fields more than that of another lock.
void WriteLibraryRow(protocol::ReplyWriter& reply, const LibraryRow& row, engine::TimeMs now);

}  // namespace fairlock::command
