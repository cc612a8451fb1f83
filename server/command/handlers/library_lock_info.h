// How LOCKS, LOCKINFO, LOCKED, QUEUE and POSITION see the locks of libraries, which are small
// values; their waiters are elements of small lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/access/user.h"
#include "server/command/locks/lock_replies.h"
#include "server/command/server_parts.h"
#include "server/command/table/glob_walk.h"
#include "server/command/table/invocation.h"
#include "server/engine/api/inspection.h"
#include "server/values/library_locks.h"

namespace fairlock::command {

// A key about which a user asks. Permissions decide which queues and numbers of a lock are found.
struct AskedKey {
  ServerParts& server;
  const access::User& user;
  engine::KeyName key;
  engine::TimeMs now = 0;

  bool MayRead(std::string_view other) const { return user.MayUse(other, access::KeyUse::kRead); }
  // Another key in the same database.
  engine::KeyName Beside(std::string_view other) const { return {.db = key.db, .bytes = other}; }
};

// The value that a library uses beside a lock; null if there is none of that type, or if it is
// larger than any library's.
template <typename Content>
Content* FindContent(ServerParts& server, const engine::KeyName& key, engine::TimeMs now) {
  values::Value* value = server.values.Find(key, now);
  if (value == nullptr || value->size() > values::kLibraryElementsMax) return nullptr;
  return std::get_if<Content>(&value->content);
}

// The owners that wait for the lock, the next one first, without those whose time to wait is over.
// Leaves out queues that the user may not read. Views are valid until the next change. O(waiters),
// plus O(waiters) for each one whose time is over.
std::vector<std::string_view> WaitersOf(const AskedKey& asked, const values::LibraryLock& lock);

// What is kept under that key: the lock of a library, which may be free with waiters.
struct FoundLibraryLock {
  const values::Value* value = nullptr;  // null: the lock is free
  values::LibraryLock lock = {};
  std::vector<std::string_view> waiters = {};
};

// Nullopt: the key is not that of a library's lock.
std::optional<FoundLibraryLock> FindLibraryLock(const AskedKey& asked);

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

// A lock of a library that LOCKS shows.
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
