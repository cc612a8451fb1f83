#include <algorithm>
#include <cassert>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

bool Releases::Unlock(const UnlockRequest& request, Step step) {
  const std::uint64_t hash = state_.table.HashOf(request.key);
  state_.recent.Prefetch(hash);
  LockEntry* lock = rules_.expiry.FindCurrent(hash, request.key, step);
  if (lock == nullptr) return false;
  Hold* hold = rules_.holds.Find(*lock, request.owner, request.token);
  if (hold != nullptr) {
    rules_.holds.End(hash, *lock, *hold, HoldEnd::kReleased, step.now);
    rules_.grants.GrantNext(*lock, step);
    Claims::Discard(state_, hash, *lock);
    return true;
  }
  if (!request.token) Cancel(request.key, request.owner, step);
  return false;
}

bool Releases::Cancel(const KeyName& key, std::string_view owner, Step step) {
  const std::uint64_t hash = state_.table.HashOf(key);
  LockEntry* lock = rules_.expiry.FindCurrent(hash, key, step);
  if (lock == nullptr || lock->contended == nullptr) return false;
  Claim* place = state_.table.FindClaim(*lock, owner);
  if (place == nullptr || !place->is_place()) return false;
  // A marked place ends too, but does not count as a place.
  const bool was_place = place->state != ClaimState::kMarked;
  CancelPlace(*place, step);
  rules_.grants.GrantNext(*lock, step);
  Claims::Discard(state_, hash, *lock);
  return was_place;
}

void Releases::CancelPlace(Claim& place, Step step) {
  rules_.answers.AnswerPlace(place, {.kind = ResolutionKind::kCancelled}, step);
  rules_.events.EmitPlace(EventKind::kCancelled, place, step.now);
  rules_.wait_queue.Remove(place, Cause::kRequest);
}

BreakResult Releases::Break(const KeyName& key, std::optional<std::string_view> owner, Step step) {
  const std::uint64_t hash = state_.table.HashOf(key);
  LockEntry* lock = rules_.expiry.FindCurrent(hash, key, step);
  if (lock == nullptr) return {};
  BreakResult ended;
  if (owner) {
    if (Hold* hold = rules_.holds.Find(*lock, *owner, std::nullopt)) {
      rules_.holds.End(hash, *lock, *hold, HoldEnd::kBroken, step.now);
      ++ended.holds;
    }
  } else {
    ended.holds = lock->hold_count();
    if (lock->contended != nullptr) {
      ended.slots_without_hold = lock->contended->slots.taken() - ended.holds;
    }
    EndReservationsAndCooldowns(*lock, step.now);
    if (lock->has_plain_hold())
      rules_.holds.End(hash, *lock, lock->plain, HoldEnd::kBroken, step.now);
    while (lock->contended != nullptr && !lock->contended->holds.empty()) {
      rules_.holds.End(hash, *lock, lock->contended->holds.front(), HoldEnd::kBroken, step.now);
    }
  }
  if (ended.holds == 0 && ended.slots_without_hold > 0) {
    lock->contended->vacating = Cause::kRequest;
  } else if (ended.holds > 0 && lock->contended != nullptr) {
    lock->contended->vacating.reset();  // the end of a hold was emitted already
  }
  rules_.grants.GrantNext(*lock, step);
  Claims::Discard(state_, hash, *lock);
  return ended;
}

void Releases::EndReservationsAndCooldowns(LockEntry& lock, TimeMs now) {
  if (lock.contended == nullptr) return;
  ContendedLock& contended = *lock.contended;
  while (!contended.cooldowns.empty()) Cooldowns::End(state_, contended.cooldowns.front());
  for (auto at = contended.active.begin(); at != contended.active.end();) {
    Claim& place = *at;
    ++at;
    if (!place.is_reserved) continue;
    rules_.events.EmitPlace(EventKind::kCancelled, place, now);
    rules_.wait_queue.Remove(place, Cause::kRequest);
  }
}

BreakResult Departures::GiveNotice(const KeyName& key, std::optional<std::string_view> owner,
                                   DurationMs grace_ms, Step step) {
  assert(grace_ms > 0);
  const std::uint64_t hash = state_.table.HashOf(key);
  LockEntry* lock = rules_.expiry.FindCurrent(hash, key, step);
  if (lock == nullptr) return {};
  if (owner) {
    Hold* hold = rules_.holds.Find(*lock, *owner, std::nullopt);
    if (hold == nullptr) return {};
    NotifyOne(hash, *lock, *hold, grace_ms, step.now);
    return {.holds = 1};
  }
  if (lock->has_plain_hold()) NotifyOne(hash, *lock, lock->plain, grace_ms, step.now);
  if (lock->contended != nullptr) {
    for (Claim& hold : lock->contended->holds) NotifyOne(hash, *lock, hold, grace_ms, step.now);
  }
  return {.holds = lock->hold_count()};
}

void Departures::NotifyOne(std::uint64_t hash, LockEntry& lock, Hold& hold, DurationMs grace_ms,
                           TimeMs now) {
  const TimeMs end_before = Holds::LeaseEndOf(hold);
  const TimeMs end = std::min(end_before, now + grace_ms);
  if (hold.is_leaving() && end == end_before) return;
  hold.set_leaving(true);
  // A restart begins the recorded length anew; 0 would mean that the lease never ends.
  hold.SetLeaseMs(std::max<DurationMs>(end - now, 1));
  if (!hold.is_claim()) {
    state_.wheel.Schedule(hold, end, TimerClass::kLease);
  } else {
    auto& claim = static_cast<Claim&>(hold);
    if (claim.extras != nullptr) {
      claim.extras->lease_end = end;
      // As after BREAK, no cooldown follows.
      claim.extras->terms.min_hold_ms = 0;
      claim.extras->cool_until = 0;
    }
    // The grace of a session continues to run.
    state_.ScheduleMember(*lock.contended, claim, std::min(claim.deadline(), end),
                          TimerClass::kLease);
  }
  state_.LogHold(hash, hold);
  rules_.events.EmitLeaving(hash, lock, hold, end, 0, now);
}

}  // namespace fairlock::engine
