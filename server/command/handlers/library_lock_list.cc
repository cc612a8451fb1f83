#include "server/command/handlers/library_lock_list.h"

#include <algorithm>
#include <utility>

#include "server/command/environment/unix_time.h"
#include "server/command/handlers/library_lock_info.h"
#include "server/command/handlers/library_waiters.h"
#include "server/command/server_parts.h"

namespace fairlock::command {

namespace {

bool IsHolder(const values::LibraryLock& lock, std::string_view owner) {
  return std::ranges::find(lock.holders, owner, &values::LibraryHolder::owner) !=
         lock.holders.end();
}

AskedKey AskedOf(const Invocation& call, const LibraryRow& row) {
  return {call.server, *call.client.rights.user(), {.db = row.db, .bytes = row.key}, call.now};
}

// Whether the row of a free lock is that of a lock which exists after all.
bool IsKnownElsewhere(Invocation& call, const LibraryRow& row) {
  const engine::KeyName key = {.db = row.db, .bytes = row.key};
  return call.server.values.Find(key, call.now) != nullptr ||
         call.server.locks.engine().redis().Peek(key, call.now).exists;
}

// Neither the times for which waiters have waited nor labels are known. REQUIRES: the key matches.
bool Passes(Invocation& call, LibraryRow& row, const engine::LockFilter& filter) {
  const auto waiters = WaitersOf(AskedOf(call, row), row.lock);
  row.waiter_count = waiters.size();
  if (row.lock.holders.empty() && (waiters.empty() || IsKnownElsewhere(call, row))) return false;
  if (filter.owner && !IsHolder(row.lock, *filter.owner) &&
      std::ranges::find(waiters, *filter.owner) == waiters.end()) {
    return false;
  }
  if (filter.wait_ms_min && (row.waiter_count == 0 || *filter.wait_ms_min > 0)) return false;
  if (filter.hold_ms_min &&
      (row.lock.holders.empty() || row.oldest_hold_ms < *filter.hold_ms_min)) {
    return false;
  }
  return !filter.is_endless || (!row.lock.holders.empty() && !row.ttl_ms);
}

engine::DurationMs OldestHoldMs(const values::LibraryLock& lock, engine::TimeMs now_unix_ms) {
  engine::DurationMs oldest_ms = 0;
  for (const values::LibraryHolder& holder : lock.holders) {
    oldest_ms = std::max(oldest_ms, now_unix_ms - holder.since_unix_ms.value_or(now_unix_ms));
  }
  return oldest_ms;
}

std::optional<engine::DurationMs> LongestMs(const values::Value& value,
                                            const values::LibraryLock& lock, engine::TimeMs now,
                                            engine::TimeMs now_unix_ms) {
  engine::DurationMs longest_ms = 0;
  for (const values::LibraryHolder& holder : lock.holders) {
    const auto left_ms = LibraryLeaseLeft(value, holder, now, now_unix_ms);
    if (!left_ms) return std::nullopt;
    longest_ms = std::max(longest_ms, *left_ms);
  }
  return longest_ms;
}

// The row of the value; nullopt if it is no lock of a library. The queue of a fair lock stands for
// the lock, because the lock may be free.
std::optional<LibraryRow> RowOf(const values::Value& value, engine::TimeMs now,
                                engine::TimeMs now_unix_ms) {
  const engine::KeyName name = value.name();
  if (auto lock = values::RecogniseLock(value, now_unix_ms)) {
    LibraryRow row = {.db = name.db, .key = std::string(name.bytes)};
    row.oldest_hold_ms = OldestHoldMs(*lock, now_unix_ms);
    row.ttl_ms = LongestMs(value, *lock, now, now_unix_ms);
    row.lock = *std::move(lock);
    return row;
  }
  const std::vector<std::string> keys = values::LocksOfQueue(value);
  if (keys.empty()) return std::nullopt;
  return LibraryRow{.db = name.db, .key = keys.front(), .lock = values::FreeLockOf(keys.front())};
}

}  // namespace

std::uint64_t WalkLibraryLocks(Invocation& call, std::uint64_t cursor, std::size_t count,
                               const engine::LockFilter& filter, GlobWalk& walk,
                               std::vector<LibraryRow>& rows) {
  if (filter.label && !filter.label->empty()) return 0;
  const engine::TimeMs now_unix_ms = call.server.unix_time.MsOf(call.now, call.now);
  const auto examine = [&](const values::Value& value) {
    if (value.deadline() < call.now || (filter.db && value.name().db != *filter.db)) return;
    walk.Charge(value.size() * GlobWalk::kLookCost);
    auto row = RowOf(value, call.now, now_unix_ms);
    if (!row) return;
    if (filter.glob != nullptr && !filter.glob->Matches(row->key, walk.compared())) return;
    if (call.client.rights.MayRead(row->key, walk.compared())) rows.push_back(*std::move(row));
  };
  cursor = call.server.values.store().Scan(cursor, count, [&](const values::Value& value) {
    walk.ChargeLook();
    examine(value);
    return !walk.is_spent();
  });
  // Finding a queue may end an overdue one, so it must wait until the scan has ended.
  std::erase_if(rows, [&](LibraryRow& row) { return !Passes(call, row, filter); });
  for (LibraryRow& row : rows) row.limit = LibraryLimit(AskedOf(call, row), row.lock);
  return cursor;
}

LockRow ShownRowOf(const LibraryRow& row) {
  const bool is_held = !row.lock.holders.empty();
  return {{.key = {.db = row.db, .bytes = row.key},
           .holder_count = row.lock.holders.size(),
           .waiter_count = row.waiter_count,
           .oldest_hold_ms = row.oldest_hold_ms,
           .label = {},
           .limit = row.limit,
           .first_owner = is_held ? row.lock.holders.front().owner : std::string_view()},
          row.lock.library,
          is_held ? row.ttl_ms : std::nullopt};
}

}  // namespace fairlock::command
