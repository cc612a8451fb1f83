// The check of the engine's invariants.

#include <algorithm>
#include <cassert>

#include "server/engine/lock_core.h"

namespace fairlock::engine {

void LockCore::CheckInvariants() const {
  EngineCounts found;
  std::size_t timers = 0;
  std::array<std::uint64_t, kDatabases> locks_by_db{};
  std::uint64_t cursor = 0;
  assert(noted_lines_.empty() && settling_.empty());
  do {
    cursor = table_.ScanGroup(cursor, [&](const LockEntry& lock) {
      timers += CheckLock(lock, found) + CheckGroups(lock);
      ++locks_by_db[lock.key().db];
    });
  } while (cursor != 0);
  assert(found.locks == counts_.locks && found.locks == table_.size());  // 8
  assert(found.holds == counts_.holds);
  assert(found.places == counts_.places);
  assert(found.passed_over == counts_.passed_over);
  assert(found.watchers == counts_.watchers);
  assert(found.cooling == counts_.cooling);
  assert(locks_by_db == locks_by_db_);
  assert(wheel_.size() == timers);  // 6
  std::uint64_t seen_changes = 0;
  for (const LockDetail& detail : lines_) {
    assert(!detail.line.empty() && detail.seen_changes >= seen_changes);  // 9
    seen_changes = detail.seen_changes;
  }
}

std::size_t LockCore::CheckLock(const LockEntry& lock, EngineCounts& found) const {
  std::size_t timers = 0;
  const auto check_timer = [&](const TimerNode& node) {
    assert(node.is_scheduled() == (node.deadline() < kNever));  // 6
    timers += node.is_scheduled() ? 1 : 0;
  };
  ++found.locks;
  found.holds += lock.hold_count();
  if (lock.has_plain_hold()) check_timer(lock.plain);
  if (lock.detail == nullptr) {
    assert(lock.has_plain_hold());  // 7
    return timers;
  }
  const LockDetail& detail = *lock.detail;
  assert(lock.has_plain_hold() || !detail.empty());  // 7
  CheckHolds(lock);
  CheckPlaces(lock);
  found.places += detail.line.size();
  found.passed_over += detail.line.size() - detail.standing.size();
  found.watchers += detail.watchers.size();
  found.cooling += detail.cooling.size();
  for (const Claim& hold : detail.holds) check_timer(hold);
  for (const Claim& place : detail.line) check_timer(place);
  assert(detail.groups_in_line ==
         std::count_if(detail.line.begin(), detail.line.end(),
                       [](const Claim& place) { return place.group() != nullptr; }));  // 8
  for (const Watcher& watcher : detail.watchers) {
    assert(lock.hold_count() > 0 || detail.is_deferred());
    check_timer(watcher);
  }
  for (const CoolingRoom& room : detail.cooling) check_timer(room);
  return timers;
}

void LockCore::CheckHolds(const LockEntry& lock) const {
  Token newest = lock.plain.token;
  Rooms rooms;
  if (lock.has_plain_hold()) {
    rooms.Take(lock.plain.mode());
    assert(table_.FindClaim(lock, lock.plain_owner()) == nullptr);  // 3
  }
  for (const Claim& hold : lock.detail->holds) {
    assert(hold.token > newest && hold.token <= counts_.newest_token);  // 4
    newest = hold.token;
    assert(hold.state == ClaimState::kHeld && !hold.is_reserved);
    assert(table_.FindClaim(lock, hold.owner()) == &hold);  // 3
    assert(hold.has_session() || hold.attachment == nullptr);
    rooms.Take(hold.mode);
  }
  for (const CoolingRoom& room : lock.detail->cooling) rooms.Take(room.mode);
  std::uint32_t reserved = 0;
  for (const Claim& place : lock.detail->standing) {
    if (!place.is_reserved) continue;
    ++reserved;
    rooms.Take(place.mode);
  }
  assert(reserved == lock.detail->reserved);  // 8
  assert(rooms.taken() == lock.detail->rooms.taken());
  assert(rooms.smallest_limit() == lock.detail->rooms.smallest_limit());
  const bool is_all_shared = rooms.taken_shared() == rooms.taken();
  const bool is_within_limits =
      rooms.taken_shared() == 0 && rooms.taken() <= rooms.smallest_limit();
  assert(is_all_shared || is_within_limits || limit_changes_ > 0);  // 1
}

void LockCore::CheckPlaces(const LockEntry& lock) const {
  const LockDetail& detail = *lock.detail;
  auto standing = detail.standing.begin();
  assert(detail.LineHook::is_linked() == !detail.line.empty());  // 9
  std::uint64_t number = 0;
  bool is_first_found = false;
  for (const Claim& place : detail.line) {
    assert(place.number > number);  // 5
    number = place.number;
    assert(table_.FindClaim(lock, place.owner()) == &place);  // 3
    const Pending& request = RequestOf(const_cast<Claim&>(place));
    assert((request.attachment != nullptr) == (place.state == ClaimState::kWaiting));
    const bool is_first_claim = &FirstClaim(place) == &place;
    assert(WaitingRequests::Has(place) ==
           (place.state == ClaimState::kWaiting && is_first_claim));  // 11
    const NotifyChannel* channel = place.channel();
    assert(channel == nullptr || request.is_linked());  // 12
    assert(channel == nullptr || channel->is_open == (request.attachment == channel));
    if (!place.is_standing()) continue;
    assert(standing != detail.standing.end() && &*standing == &place);  // 5
    ++standing;
    if (is_first_found || place.is_reserved) continue;
    is_first_found = true;
    const bool is_its_turn = FindBlocked(const_cast<Claim&>(place), place.mode) == nullptr;
    assert(!HasRoom(lock, place.mode) || !is_its_turn || !IsSeen(detail) || is_in_step_);  // 2
  }
  assert(standing == detail.standing.end());
}

// Counts the timers of groups, each at its first claim.
std::size_t LockCore::CheckGroups(const LockEntry& lock) const {
  if (lock.detail == nullptr) return 0;
  std::size_t timers = 0;
  const auto check = [&](const Claim& claim) {
    const Group* group = claim.group();
    if (group == nullptr || group->claims.front() != &claim) return;
    CheckGroup(*group);
    timers += group->is_scheduled() ? 1 : 0;
  };
  for (const Claim& claim : lock.detail->line) check(claim);
  for (const Claim& claim : lock.detail->holds) check(claim);
  return timers;
}

void LockCore::CheckGroup(const Group& group) const {
  const Claim& first = *group.claims.front();
  assert(group.is_held() == (held_groups_.Find(group.token) == &group));  // 10
  assert(group.is_held() ? !group.is_scheduled() : group.is_whole());
  assert(group.is_scheduled() == (!group.is_held() && group.deadline() < kNever));
  for (const Claim* claim : group.claims) {
    assert(claim->group() == &group && claim->state == first.state);
    assert(claim->token == group.token && claim->arrival == first.arrival);
    assert(claim->is_reserved == first.is_reserved && claim->owner() == first.owner());
    assert(!claim->is_place() || !claim->is_scheduled());
  }
}

}  // namespace fairlock::engine
