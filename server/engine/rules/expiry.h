// Time: leases, waits, KEEPs and cooldowns end once their last millisecond is over, in the order of
// their deadlines. A command first ends what is due on its key, whether or not Advance has reached
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/engine/api/effects.h"
#include "server/engine/rules/rule.h"
#include "server/engine/rules/turns.h"

namespace fairlock::engine {

class Expiry : Rule {
 public:
  using Rule::Rule;

  // Ends what is due on the lock of that name, and returns the lock; null if there is none.
  LockEntry* FindCurrent(std::uint64_t hash, const KeyName& key, Step step);
  LockEntry* ExpireDue(std::uint64_t hash, LockEntry& lock, Step step);
  // Ends what is due on any of the locks, in the order of the deadlines. If a place of an MLOCK is
  // due, the other keys of the MLOCK are included, because its turn may have come before that. The
  // locks stay until End, even if they are empty; afterwards the caller discards them.
  void Begin(LockSpan locks, Step step);
  void End(LockSpan locks);
  // Call this after a change to the locks. Ends what is due, so that no place whose wait is over is
  // granted, and then grants.
  void ExpireAndGrant(LockSpan locks, Step step);
  void EndDue(TimerNode& node, Step step);
  bool Advance(std::size_t steps_max, Step step);
  TimeMs NextDeadline() const;
  bool IsBehind(TimeMs now) const {
    return state_.wheel.is_behind(LastTickBefore(now)) || Limits::IsAnyQueueUnseen(state_);
  }

 private:
  bool EndTimers(std::size_t steps_max, Step step);
  void AddLock(LockEntry& lock);
  void CollectDue(LockEntry& lock, TimeMs last_tick);
  void EndPlace(Claim& place, Step step);
  void Reconsider(LockEntry& lock, Step step);
  // Considers at most `queues_max` queues again. True: there are more to consider.
  bool ReconsiderQueues(std::size_t queues_max, Step step);

  std::vector<TimerNode*> due_;  // reused by each call of CollectDue
};

}  // namespace fairlock::engine
