#include "server/engine/rules/releases.h"

namespace fairlock::engine {

bool Releases::Unlock(const UnlockRequest& request, Step step) {
  const std::uint64_t hash = state_.table.HashOf(request.key);
  state_.recent.Prefetch(hash);
  LockEntry* lock = expiry_.FindCurrent(hash, request.key, step);
  if (lock == nullptr) return false;
  Hold* hold = holds_.Find(*lock, request.owner, request.token);
  if (hold != nullptr) {
    holds_.End(hash, *lock, *hold, HoldEnd::kReleased, step.now);
    grants_.GrantNext(*lock, step);
    claims_.Discard(hash, *lock);
    return true;
  }
  if (!request.token) Cancel(request.key, request.owner, step);
  return false;
}

bool Releases::Cancel(const KeyName& key, std::string_view owner, Step step) {
  const std::uint64_t hash = state_.table.HashOf(key);
  LockEntry* lock = expiry_.FindCurrent(hash, key, step);
  if (lock == nullptr || lock->contended == nullptr) return false;
  Claim* place = state_.table.FindClaim(*lock, owner);
  if (place == nullptr || !place->is_place()) return false;
  // A marked place ends too, but does not count as a place.
  const bool was_place = place->state != ClaimState::kMarked;
  CancelPlace(*place, step);
  grants_.GrantNext(*lock, step);
  claims_.Discard(hash, *lock);
  return was_place;
}

void Releases::CancelPlace(Claim& place, Step step) {
  answers_.AnswerPlace(place, {.kind = ResolutionKind::kCancelled}, step);
  events_.EmitPlace(EventKind::kCancelled, place, step.now);
  wait_queue_.Remove(place, Cause::kRequest);
}

BreakResult Releases::Break(const KeyName& key, std::optional<std::string_view> owner, Step step) {
  const std::uint64_t hash = state_.table.HashOf(key);
  LockEntry* lock = expiry_.FindCurrent(hash, key, step);
  if (lock == nullptr) return {};
  BreakResult ended;
  if (owner) {
    if (Hold* hold = holds_.Find(*lock, *owner, std::nullopt)) {
      holds_.End(hash, *lock, *hold, HoldEnd::kBroken, step.now);
      ++ended.holds;
    }
  } else {
    ended.holds = lock->hold_count();
    if (lock->contended != nullptr) {
      ended.slots_without_hold = lock->contended->slots.taken() - ended.holds;
    }
    EndReservationsAndCooldowns(*lock, step.now);
    if (lock->has_plain_hold()) holds_.End(hash, *lock, lock->plain, HoldEnd::kBroken, step.now);
    while (lock->contended != nullptr && !lock->contended->holds.empty()) {
      holds_.End(hash, *lock, lock->contended->holds.front(), HoldEnd::kBroken, step.now);
    }
  }
  if (ended.holds == 0 && ended.slots_without_hold > 0) {
    lock->contended->vacating = Cause::kRequest;
  } else if (ended.holds > 0 && lock->contended != nullptr) {
    lock->contended->vacating.reset();  // the end of a hold was emitted already
  }
  grants_.GrantNext(*lock, step);
  claims_.Discard(hash, *lock);
  return ended;
}

void Releases::EndReservationsAndCooldowns(LockEntry& lock, TimeMs now) {
  if (lock.contended == nullptr) return;
  ContendedLock& contended = *lock.contended;
  while (!contended.cooldowns.empty()) cooldowns_.End(contended.cooldowns.front());
  for (auto at = contended.active.begin(); at != contended.active.end();) {
    Claim& place = *at;
    ++at;
    if (!place.is_reserved) continue;
    events_.EmitPlace(EventKind::kCancelled, place, now);
    wait_queue_.Remove(place, Cause::kRequest);
  }
}

}  // namespace fairlock::engine
