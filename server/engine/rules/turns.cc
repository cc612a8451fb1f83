#include "server/engine/rules/turns.h"

#include <algorithm>

namespace fairlock::engine {

namespace {

// The first claim of the place for which the condition is true, or null.
template <typename Condition>
Claim* FindClaim(Claim& place, Condition&& condition) {
  MultiLock* multi_lock = place.multi_lock();
  if (multi_lock == nullptr) return condition(place) ? &place : nullptr;
  const auto found = std::find_if(multi_lock->claims.begin(), multi_lock->claims.end(),
                                  [&](const Claim* claim) { return condition(*claim); });
  return found == multi_lock->claims.end() ? nullptr : *found;
}

}  // namespace

bool Turns::IsActiveAhead(const LockEntry& lock, std::uint64_t number) {
  // Places with a reserved slot are ahead, but need no further slot, so they do not delay the
  // places after them.
  for (const Claim& place : lock.contended->active) {
    if (place.number >= number) return false;
    if (!place.is_reserved) return true;
  }
  return false;
}

Claim* Turns::FindBlocked(Claim& place, const Mode& mode) const {
  return FindClaim(place, [&](const Claim& claim) {
    // At the time of a deadline before the transaction, the slots that it freed were still taken.
    if (state_.is_in_past && claim.lock.contended->is_deferred()) return true;
    return IsAnyoneAhead(claim.lock, claim.number) || !limits_.HasSlot(claim.lock, mode);
  });
}

Claim* Turns::FindBlockedAgain(Claim& place, bool was_reserved, const Mode& mode) const {
  if (!was_reserved || mode != place.mode) return FindBlocked(place, mode);
  return FindClaim(place, [&](const Claim& claim) {
    return !limits_.HasSlot(claim.lock, claim.mode) && !HasSlotBesideThoseAhead(claim);
  });
}

Slots Turns::SlotsOfHolds(const LockEntry& lock) {
  Slots slots;
  if (lock.has_plain_hold()) slots.Take(lock.plain.mode());
  if (lock.contended == nullptr) return slots;
  for (const Claim& hold : lock.contended->holds) slots.Take(hold.mode);
  return slots;
}

// If there are fewer slots now than are reserved, the first places in the queue have them.
bool Turns::HasSlotBesideThoseAhead(const Claim& place) const {
  const ContendedLock& contended = *place.lock.contended;
  Slots slots = SlotsOfHolds(place.lock);
  for (const Cooldown& cooldown : contended.cooldowns) slots.Take(cooldown.mode);
  for (const Claim& other : contended.active) {
    if (other.number >= place.number) break;
    if (other.is_reserved) slots.Take(other.mode);
  }
  return limits_.HasSlotIn(slots, place.lock, place.mode);
}

DenialReason Turns::ReasonFor(const LockEntry& lock, const Mode& mode) const {
  if (limits_.IsDrained(lock.key())) {
    return state_.overrides.are_all_drained() ? DenialReason::kStarting : DenialReason::kDrained;
  }
  if (limits_.HasSlot(lock, mode)) return DenialReason::kLine;
  if (lock.contended != nullptr &&
      (lock.contended->reserved > 0 || !lock.contended->cooldowns.empty())) {
    Slots slots = SlotsOfHolds(lock);
    if (limits_.HasSlotIn(slots, lock, mode)) {
      for (const Claim& place : lock.contended->active) {
        if (place.is_reserved) slots.Take(place.mode);
      }
      return limits_.HasSlotIn(slots, lock, mode) ? DenialReason::kCooling
                                                  : DenialReason::kReserved;
    }
  }
  const bool are_holders_shared =
      lock.contended != nullptr && lock.contended->slots.taken_shared() > 0;
  return are_holders_shared != mode.is_shared ? DenialReason::kShared : DenialReason::kHeld;
}

}  // namespace fairlock::engine
