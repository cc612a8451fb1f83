#include "server/engine/rules/turns.h"

#include <algorithm>

namespace fairlock::engine {

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
  const auto is_blocked = [&](const Claim& claim) {
    // At the time of a deadline before the transaction, the slots that it freed were still taken.
    if (state_.is_in_past && claim.lock.contended->is_deferred()) return true;
    return IsAnyoneAhead(claim.lock, claim.number) || !limits_.HasSlot(claim.lock, mode);
  };
  MultiLock* multi_lock = place.multi_lock();
  if (multi_lock == nullptr) return is_blocked(place) ? &place : nullptr;
  const auto found = std::find_if(multi_lock->claims.begin(), multi_lock->claims.end(),
                                  [&](const Claim* claim) { return is_blocked(*claim); });
  return found == multi_lock->claims.end() ? nullptr : *found;
}

DenialReason Turns::ReasonFor(const LockEntry& lock, const Mode& mode) const {
  if (limits_.IsDrained(lock.key())) {
    return state_.overrides.are_all_drained() ? DenialReason::kStarting : DenialReason::kDrained;
  }
  if (limits_.HasSlot(lock, mode)) return DenialReason::kLine;
  if (lock.contended != nullptr &&
      (lock.contended->reserved > 0 || !lock.contended->cooldowns.empty())) {
    Slots slots;
    if (lock.has_plain_hold()) slots.Take(lock.plain.mode());
    for (const Claim& hold : lock.contended->holds) slots.Take(hold.mode);
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
