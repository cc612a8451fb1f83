#include "server/command/handlers/library_lock_info.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

#include "server/command/environment/clock.h"
#include "server/command/handlers/value_access.h"
#include "server/command/server_parts.h"
#include "server/values/names.h"
#include "server/values/set.h"

namespace fairlock::command {

namespace {

const engine::ClientIdentity kUnknown;

// The number that is the owner of that lock.
std::optional<std::int64_t> NumberAt(const AskedKey& asked, std::string_view key) {
  if (key.empty() || !asked.MayRead(key)) return std::nullopt;
  const engine::KeyLook look =
      asked.server.locks.engine().redis().Peek(asked.Beside(key), asked.now);
  return look.is_held ? values::ParsePlainNumber(look.owner) : std::nullopt;
}

// When each waiter stops waiting, by its name.
std::unordered_map<std::string_view, engine::TimeMs> EndsOf(const AskedKey& asked,
                                                            const values::LibraryLock& lock) {
  std::unordered_map<std::string_view, engine::TimeMs> ends;
  for (const values::LibraryQueue& queue : lock.queues) {
    if (queue.ends_key.empty()) continue;
    const auto* set =
        FindContent<values::SortedSet>(asked.server, asked.Beside(queue.ends_key), asked.now);
    if (set == nullptr) continue;
    for (const values::SortedSet::Member& member : set->members()) {
      // A number that is no time would not fit the type.
      const double end = std::clamp(member.score, 0.0, 1e15);
      ends.emplace(member.name, static_cast<engine::TimeMs>(end));
    }
  }
  return ends;
}

}  // namespace

std::optional<engine::DurationMs> LibraryLeaseLeft(const values::Value& value,
                                                   const values::LibraryHolder& holder,
                                                   engine::TimeMs now, engine::TimeMs now_unix_ms) {
  std::optional<engine::DurationMs> left_ms;
  if (value.expires()) left_ms = value.deadline() - now;
  if (holder.end_unix_ms) {
    const engine::DurationMs own_ms = *holder.end_unix_ms - now_unix_ms;
    left_ms = std::min(left_ms.value_or(own_ms), own_ms);
  }
  return left_ms ? std::optional(std::max<engine::DurationMs>(*left_ms, 0)) : std::nullopt;
}

std::string_view TypeOfValue(const AskedKey& asked) {
  const values::Value* value = asked.server.values.Find(asked.key, asked.now);
  return value == nullptr ? std::string_view() : NameOfType(value->type());
}

std::uint32_t LibraryLimit(const AskedKey& asked, const values::LibraryLock& lock) {
  for (const std::string& key : lock.permits_keys) {
    const auto free = NumberAt(asked, key);
    if (!free) continue;
    const auto taken = static_cast<std::int64_t>(lock.holders.size() + lock.overdue_count);
    const std::int64_t limit = std::clamp<std::int64_t>(*free, 0, engine::kLimitMax) + taken;
    return static_cast<std::uint32_t>(std::min<std::int64_t>(limit, engine::kLimitMax));
  }
  return 1;
}

std::optional<LibraryLockInfo> InspectLibraryLock(const AskedKey& asked, std::size_t holders_max) {
  auto found = FindLibraryLock(asked);
  if (!found) return std::nullopt;
  const engine::TimeMs now = asked.now;
  const engine::TimeMs now_unix_ms = asked.server.unix_time.MsOf(now, now);
  LibraryLockInfo shown = {.lock = std::move(found->lock)};
  engine::LockInfo& info = shown.info;
  info.is_shared = shown.lock.is_shared;
  info.limit = LibraryLimit(asked, shown.lock);
  info.holder_count = shown.lock.holders.size();
  info.waiter_count = found->waiters.size();
  const auto token = NumberAt(asked, shown.lock.token_key);
  for (const values::LibraryHolder& holder : shown.lock.holders) {
    if (info.holders.size() == holders_max) break;
    engine::HolderInfo& one = info.holders.emplace_back();
    one.owner = holder.owner;
    one.token = static_cast<engine::Token>(std::max<std::int64_t>(token.value_or(0), 0));
    one.held_ms =
        std::max<engine::DurationMs>(now_unix_ms - holder.since_unix_ms.value_or(now_unix_ms), 0);
    one.since = now - one.held_ms;
    one.ttl_ms = LibraryLeaseLeft(*found->value, holder, now, now_unix_ms);
    one.mode = {.limit = info.limit, .is_shared = info.is_shared};
    one.client = &kUnknown;
  }
  return shown;
}

std::optional<std::uint64_t> CountLibraryHolders(const AskedKey& asked,
                                                 std::optional<std::string_view> owner) {
  const auto found = FindLibraryLock(asked);
  if (!found) return std::nullopt;
  const auto& holders = found->lock.holders;
  if (!owner) return holders.size();
  return std::ranges::count(holders, *owner, &values::LibraryHolder::owner);
}

std::optional<std::vector<engine::PlaceInfo>> LibraryQueueOf(const AskedKey& asked,
                                                             std::uint64_t start,
                                                             std::uint64_t count) {
  const auto found = FindLibraryLock(asked);
  if (!found) return std::nullopt;
  const engine::TimeMs now_unix_ms = asked.server.unix_time.MsOf(asked.now, asked.now);
  const auto ends = EndsOf(asked, found->lock);
  std::vector<engine::PlaceInfo> places;
  for (std::uint64_t i = start; i < found->waiters.size() && places.size() < count; ++i) {
    engine::PlaceInfo& place = places.emplace_back();
    place.owner = found->waiters[i];
    place.position = i + 1;
    place.since = asked.now;
    place.is_waiting = true;
    place.client = &kUnknown;
    const auto end = ends.find(place.owner);
    if (end != ends.end()) place.wait_left_ms = end->second - now_unix_ms;
  }
  return places;
}

std::optional<LibraryPosition> LibraryPositionOf(const AskedKey& asked, std::string_view owner) {
  const auto found = FindLibraryLock(asked);
  if (!found) return std::nullopt;
  const auto& holders = found->lock.holders;
  if (std::ranges::find(holders, owner, &values::LibraryHolder::owner) != holders.end()) {
    return LibraryPosition{0};
  }
  const auto place = std::ranges::find(found->waiters, owner);
  if (place == found->waiters.end()) return LibraryPosition{};
  return LibraryPosition{static_cast<std::uint64_t>(place - found->waiters.begin()) + 1};
}

namespace {

// The waiters whose time is over, which the library removes when it comes to them.
std::vector<std::string_view> OverdueOf(const AskedKey& asked, std::string_view ends_key) {
  std::vector<std::string_view> overdue;
  if (ends_key.empty()) return overdue;
  const auto* ends =
      FindContent<values::SortedSet>(asked.server, asked.Beside(ends_key), asked.now);
  if (ends == nullptr) return overdue;
  const auto now_unix_ms = static_cast<double>(asked.server.unix_time.MsOf(asked.now, asked.now));
  for (const values::SortedSet::Member& member : ends->members()) {
    if (member.score > now_unix_ms) break;
    overdue.push_back(member.name);
  }
  return overdue;
}

}  // namespace

std::vector<std::string_view> WaitersOf(const AskedKey& asked, const values::LibraryLock& lock) {
  std::vector<std::string_view> waiters;
  for (const values::LibraryQueue& queue : lock.queues) {
    if (!asked.MayRead(queue.key)) continue;
    const auto* list = FindContent<values::List>(asked.server, asked.Beside(queue.key), asked.now);
    if (list == nullptr) continue;
    const values::Names overdue(OverdueOf(asked, queue.ends_key));
    const std::size_t before = waiters.size();
    for (const std::string& element : list->elements()) {
      if (lock.mark && element == *lock.mark) continue;
      if (!overdue.Has(element)) waiters.push_back(element);
    }
    if (queue.first == values::ListEnd::kRight) {
      std::reverse(waiters.begin() + static_cast<std::ptrdiff_t>(before), waiters.end());
    }
  }
  return waiters;
}

std::optional<FoundLibraryLock> FindLibraryLock(const AskedKey& asked) {
  auto& [server, user, key, now] = asked;
  if (server.values.store().empty()) return std::nullopt;
  FoundLibraryLock found = {.value = server.values.Find(key, now)};
  if (found.value != nullptr) {
    auto lock = values::RecogniseLock(*found.value, server.unix_time.MsOf(now, now));
    if (!lock) return std::nullopt;
    found.lock = *std::move(lock);
  } else {
    if (server.locks.engine().redis().Peek(key, now).exists) return std::nullopt;
    found.lock = values::FreeLockOf(key.bytes);
  }
  found.waiters = WaitersOf(asked, found.lock);
  if (found.value == nullptr && found.waiters.empty()) return std::nullopt;
  return found;
}

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
