// Fairness: a request is granted only when no active place is ahead of it in the queue and a slot
// is free; an MLOCK only when both are true on all its keys.
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
  DenialReason ReasonFor(const LockEntry& lock, const Mode& mode) const;
  // Whether a new request of that mode would be granted at once.
  bool MayPass(const LockEntry& lock, const Mode& mode) const {
    return !IsAnyoneAhead(lock, ~std::uint64_t{0}) && limits_.HasSlot(lock, mode);
  }

 private:
  // REQUIRES: the lock is contended.
  static bool IsActiveAhead(const LockEntry& lock, std::uint64_t number);

  EngineState& state_;
  Limits limits_;
};

}  // namespace fairlock::engine
