// The invariants of the engine's state:
//
//  1. No key has more slots taken than the LIMIT of each of them allows, unless all are SHARED.
//     This is checked only if no override of LIMIT was ever set.
//  2. Outside a transaction, the first active place without a reserved slot cannot be granted (an
//     MLOCK: not on all of its keys), if its queue has been considered since the last change of
//     overrides.
//  3. An owner has one hold or one place on a key, never both.
//  4. The tokens of the holds of a key ascend in the order of their grants and do not exceed the
//     newest token.
//  5. The places of a queue are in the order of their numbers; `active` has those that are not
//     skipped.
//  6. Every hold with an end and every place and watcher with a time limit is in the timer wheel.
//  7. A lock in the table has a hold, a place, a watcher or a cooldown.
//  8. The counts agree with the state.
//  9. `queues` has the locks with a queue. Those that have not been considered since the last
//     change of overrides come first.
// 10. The claims of a multi-lock are either places or holds. As places, there is one on each key,
//     all have the same arrival and state, and either all or none have a reserved slot. As holds,
//     they have the token of the multi-lock, which no other multi-lock of these keys has.
// 11. `waiting` has, for each place whose request waits, the claim that represents it, and no
//     others.
// 12. A place with NOTIFY waits on its channel while the channel is open, and otherwise is among
//     the absent places of the channel.
#pragma once

#include <cstddef>

#include "server/engine/api/inspection.h"
#include "server/engine/rules/rule.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

class Invariants : Rule {
 public:
  using Rule::Rule;

  // Asserts the invariants above. O(everything).
  void Check() const;

 private:
  std::size_t CheckLock(const LockEntry& lock, EngineCounts& found) const;
  void CheckHolds(const LockEntry& lock) const;
  void CheckPlaces(const LockEntry& lock) const;
  std::size_t CheckMultiLocks(const LockEntry& lock) const;
  void CheckMultiLock(const MultiLock& multi_lock) const;
};

}  // namespace fairlock::engine
