// Fairness: a request is granted only when no active place is ahead of it in the queue and a slot
// is free; an MLOCK only when both are true on all its keys. A place with a reserved slot has had
// its turn: an owner that asks for the slot again, in the same mode, gets it, even if a place ahead
// now asks for more than it had reserved.
#pragma once

#include <cstdint>

#include "server/engine/rules/limits.h"
#include "server/engine/state/engine_state.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

// Loop-confined.
class Turns {
 public:
  Turns(EngineState& state, const Limits& limits) : state_(state), limits_(limits) {}

  // Whether an active place with a lower number needs a slot.
  bool IsAnyoneAhead(const LockEntry& lock, std::uint64_t number) const {
    return lock.contended != nullptr && IsActiveAhead(lock, number);
  }
  // The first claim of the place that is not at the head of its queue, or for which no slot is
  // free; null: the turn of the place has come.
  Claim* FindBlocked(Claim& place, const Mode& mode) const;
  // The same for a place whose owner asks again. `was_reserved`: it had reserved slots, which have
  // been taken back for this question. If it asks for the same mode, only holds, cooldowns and the
  // reservations ahead can block it, and these only if LIMIT overrides have changed.
  Claim* FindBlockedAgain(Claim& place, bool was_reserved, const Mode& mode) const;
  DenialReason ReasonFor(const LockEntry& lock, const Mode& mode) const;
  // Whether a new request of that mode would be granted at once.
  bool MayPass(const LockEntry& lock, const Mode& mode) const {
    return !IsAnyoneAhead(lock, ~std::uint64_t{0}) && limits_.HasSlot(lock, mode);
  }

 private:
  // REQUIRES: the lock is contended.
  static bool IsActiveAhead(const LockEntry& lock, std::uint64_t number);
  static Slots SlotsOfHolds(const LockEntry& lock);
  // O(holds and places).
  bool HasSlotBesideThoseAhead(const Claim& place) const;

  EngineState& state_;
  Limits limits_;
};

}  // namespace fairlock::engine
