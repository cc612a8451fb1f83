// Time: leases, waits, KEEPs and cooldowns end once their last millisecond is over, in the order of
// their deadlines. A command first ends what is due on its key, whether or not Advance has reached
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/engine/api/step.h"
#include "server/engine/rules/answers.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/cooldowns.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/grants.h"
#include "server/engine/rules/holds.h"
#include "server/engine/rules/limits.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/wait_queue.h"
#include "server/engine/rules/watchers.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class Expiry {
 public:
  Expiry(EngineState& state, Events& events, const Claims& claims, const Cooldowns& cooldowns,
         Holds& holds, const Limits& limits, WaitQueue& wait_queue, Places& places,
         Answers& answers, Watchers& watchers, Grants& grants)
      : state_(state),
        events_(events),
        claims_(claims),
        cooldowns_(cooldowns),
        holds_(holds),
        limits_(limits),
        wait_queue_(wait_queue),
        places_(places),
        answers_(answers),
        watchers_(watchers),
        grants_(grants) {}

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
    return state_.wheel.is_behind(LastTickBefore(now)) || limits_.IsAnyQueueUnseen();
  }

 private:
  void AddLock(LockEntry& lock);
  void CollectDue(LockEntry& lock, TimeMs last_tick);
  void EndPlace(Claim& place, Step step);
  void Reconsider(LockEntry& lock, Step step);
  // Considers at most `queues_max` queues again. True: there are more to consider.
  bool ReconsiderQueues(std::size_t queues_max, Step step);

  EngineState& state_;
  Events& events_;
  Claims claims_;
  Cooldowns cooldowns_;
  Holds& holds_;
  Limits limits_;
  WaitQueue& wait_queue_;
  Places& places_;
  Answers& answers_;
  Watchers& watchers_;
  Grants& grants_;
  std::vector<TimerNode*> due_;  // reused by each call of CollectDue
};

}  // namespace fairlock::engine
