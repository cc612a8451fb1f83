// The queue of a lock has its places in the order of their arrival. Only active places count; a
// skipped place keeps its number, so that its owner can return to it. If the owner of an active
// place is absent when its turn comes, a slot is reserved for it.
#pragma once

#include <cstdint>

#include "server/engine/rules/rule.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

class WaitQueue : Rule {
 public:
  using Rule::Rule;

  void Enter(Claim& place, TimeMs now);
  // Link and Activate act on one claim of a place.
  void Link(ContendedLock& contended);  // call this before a place joins
  // Whether the queue has been considered to its end under the present limits. If not, it is
  // considered again soon, before those that only new limits concern.
  void SetSeen(ContendedLock& contended, bool is_seen);
  void Activate(Claim& claim);
  void Reserve(Claim& place);
  void Unreserve(Claim& place);
  void Schedule(Claim& place, TimeMs deadline, std::uint8_t timer_class);
  void Leave(Claim& claim);
  void RememberIfKeyEnds(const Claim& claim, Cause cause);
  // Removes the place from its queues and destroys it.
  void Remove(Claim& place, Cause cause);
  void Enqueue(LockEntry& lock);
  void EnqueueOthers(const Claim& place);
  void ForgetWaiting(Claim& place);
  // Adds the place to those that wait for a subscriber of their channel, if it has a channel.
  static void StandAbsent(Claim& place);
  static void LeaveAbsent(Claim& place);

 private:
  void Append(ContendedLock& contended);
  void ReserveSlot(Claim& claim);
  void UnreserveSlot(Claim& claim);
};

}  // namespace fairlock::engine
