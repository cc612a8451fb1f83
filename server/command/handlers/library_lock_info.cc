#include "server/command/handlers/library_lock_info.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "server/command/environment/unix_time.h"
#include "server/command/handlers/value_keys.h"
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

}  // namespace fairlock::command
