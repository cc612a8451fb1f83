#include <algorithm>
#include <cassert>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

void Invariants::Check() const {
  EngineCounts found;
  std::size_t timers = 0;
  std::array<std::uint64_t, kDatabases> locks_by_db{};
  std::uint64_t cursor = 0;
  assert(state_.queues_to_grant.empty() && state_.expiring.empty());
  do {
    cursor = state_.table.ScanGroup(cursor, [&](const LockEntry& lock) {
      timers += CheckLock(lock, found) + CheckMultiLocks(lock);
      ++locks_by_db[lock.key().db];
    });
  } while (cursor != 0);
  assert(found.locks == state_.counts.locks && found.locks == state_.table.size());  // 8
  assert(found.holds == state_.counts.holds);
  assert(found.places == state_.counts.places);
  assert(found.skipped == state_.counts.skipped);
  assert(found.watchers == state_.counts.watchers);
  assert(found.cooldowns == state_.counts.cooldowns);
  assert(locks_by_db == state_.locks_by_db);
  assert(state_.wheel.size() == timers);  // 6
  std::uint64_t seen_changes = 0;
  for (const ContendedLock& contended : state_.queues) {
    assert(!contended.queue.empty() && contended.seen_changes >= seen_changes);  // 9
    seen_changes = contended.seen_changes;
  }
}

std::size_t Invariants::CheckLock(const LockEntry& lock, EngineCounts& found) const {
  std::size_t timers = 0;
  const auto check_timer = [&](const TimerNode& node) {
    assert(node.is_scheduled() == (node.deadline() < kNever));  // 6
    timers += node.is_scheduled() ? 1 : 0;
  };
  ++found.locks;
  found.holds += lock.hold_count();
  if (lock.has_plain_hold()) check_timer(lock.plain);
  if (lock.contended == nullptr) {
    assert(lock.has_plain_hold());  // 7
    return timers;
  }
  const ContendedLock& contended = *lock.contended;
  assert(lock.has_plain_hold() || !contended.empty());  // 7
  CheckHolds(lock);
  CheckPlaces(lock);
  found.places += contended.queue.size();
  found.skipped += contended.queue.size() - contended.active.size();
  found.watchers += contended.watchers.size();
  found.cooldowns += contended.cooldowns.size();
  for (const Claim& hold : contended.holds) check_timer(hold);
  for (const Claim& place : contended.queue) check_timer(place);
  assert(contended.multi_locks_in_queue ==
         std::count_if(contended.queue.begin(), contended.queue.end(),
                       [](const Claim& place) { return place.multi_lock() != nullptr; }));  // 8
  for (const Watcher& watcher : contended.watchers) {
    assert(lock.hold_count() > 0 || contended.is_deferred());
    check_timer(watcher);
  }
  for (const Cooldown& cooldown : contended.cooldowns) check_timer(cooldown);
  return timers;
}

void Invariants::CheckHolds(const LockEntry& lock) const {
  Token newest = lock.plain.token;
  Slots slots;
  if (lock.has_plain_hold()) {
    slots.Take(lock.plain.mode());
    assert(state_.table.FindClaim(lock, lock.plain_owner()) == nullptr);  // 3
  }
  for (const Claim& hold : lock.contended->holds) {
    assert(hold.token > newest && hold.token <= state_.counts.newest_token);  // 4
    newest = hold.token;
    assert(hold.state == ClaimState::kHeld && !hold.is_reserved);
    assert(state_.table.FindClaim(lock, hold.owner()) == &hold);  // 3
    assert(hold.has_session() || hold.attachment == nullptr);
    slots.Take(hold.mode);
  }
  for (const Cooldown& cooldown : lock.contended->cooldowns) slots.Take(cooldown.mode);
  std::uint32_t reserved = 0;
  for (const Claim& place : lock.contended->active) {
    if (!place.is_reserved) continue;
    ++reserved;
    slots.Take(place.mode);
  }
  assert(reserved == lock.contended->reserved);  // 8
  assert(slots.taken() == lock.contended->slots.taken());
  assert(slots.smallest_limit() == lock.contended->slots.smallest_limit());
  const bool is_all_shared = slots.taken_shared() == slots.taken();
  const bool is_within_limits =
      slots.taken_shared() == 0 && slots.taken() <= slots.smallest_limit();
  assert(is_all_shared || is_within_limits || state_.limit_changes > 1);  // 1
}

void Invariants::CheckPlaces(const LockEntry& lock) const {
  const ContendedLock& contended = *lock.contended;
  auto active = contended.active.begin();
  assert(contended.QueueHook::is_linked() == !contended.queue.empty());  // 9
  std::uint64_t number = 0;
  bool is_first_found = false;
  for (const Claim& place : contended.queue) {
    assert(place.number > number);  // 5
    number = place.number;
    assert(state_.table.FindClaim(lock, place.owner()) == &place);  // 3
    const Pending& request = RequestOf(const_cast<Claim&>(place));
    assert((request.attachment != nullptr) == (place.state == ClaimState::kWaiting));
    const bool is_first_claim = &FirstClaim(place) == &place;
    assert(WaitingRequests::Has(place) ==
           (place.state == ClaimState::kWaiting && is_first_claim));  // 11
    const NotifyChannel* channel = place.channel();
    assert(channel == nullptr || request.is_linked());  // 12
    assert(channel == nullptr || channel->is_open == (request.attachment == channel));
    if (!place.is_active()) continue;
    assert(active != contended.active.end() && &*active == &place);  // 5
    ++active;
    if (is_first_found || place.is_reserved) continue;
    is_first_found = true;
    const bool is_its_turn =
        Turns::FindBlocked(state_, const_cast<Claim&>(place), place.mode) == nullptr;
    assert(!Limits::HasSlot(state_, lock, place.mode) || !is_its_turn ||
           !Limits::IsSeen(state_, contended) || state_.is_in_transaction);  // 2
  }
  assert(active == contended.active.end());
}

// Counts the timers of multi-locks, each where its first claim is visited.
std::size_t Invariants::CheckMultiLocks(const LockEntry& lock) const {
  if (lock.contended == nullptr) return 0;
  std::size_t timers = 0;
  const auto check = [&](const Claim& claim) {
    const MultiLock* multi_lock = claim.multi_lock();
    if (multi_lock == nullptr || multi_lock->claims.front() != &claim) return;
    CheckMultiLock(*multi_lock);
    timers += multi_lock->is_scheduled() ? 1 : 0;
  };
  for (const Claim& claim : lock.contended->queue) check(claim);
  for (const Claim& claim : lock.contended->holds) check(claim);
  return timers;
}

void Invariants::CheckMultiLock(const MultiLock& multi_lock) const {
  const Claim& first = *multi_lock.claims.front();
  assert(!multi_lock.is_held() || state_.held_multi_locks.Find(multi_lock.token));  // 10
  assert(multi_lock.is_held() ? !multi_lock.is_scheduled() : multi_lock.is_whole());
  assert(multi_lock.is_scheduled() == (!multi_lock.is_held() && multi_lock.deadline() < kNever));
  for (const Claim* claim : multi_lock.claims) {
    assert(claim->multi_lock() == &multi_lock && claim->state == first.state);
    assert(claim->token == multi_lock.token && claim->arrival == first.arrival);
    assert(claim->is_reserved == first.is_reserved && claim->owner() == first.owner());
    assert(!claim->is_place() || !claim->is_scheduled());
  }
}

}  // namespace fairlock::engine
