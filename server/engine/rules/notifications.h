// NOTIFY: requests wait on a channel instead of a connection while the channel has a subscriber.
// When the last subscriber leaves, their places become absent as if their connection had closed;
// when a subscriber returns, they wait again.
#pragma once

#include <string_view>
#include <vector>

#include "server/engine/api/step.h"
#include "server/engine/rules/answers.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/deadlocks.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/rules/grants.h"
#include "server/engine/rules/limits.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/sessions.h"
#include "server/engine/rules/turns.h"
#include "server/engine/rules/wait_queue.h"
#include "server/engine/state/engine_state.h"
#include "server/engine/state/multi_lock.h"

namespace fairlock::engine {

// Loop-confined.
class Notifications {
 public:
  Notifications(EngineState& state, Events& events, const Claims& claims, const Limits& limits,
                const Turns& turns, WaitQueue& wait_queue, Places& places, Answers& answers,
                Grants& grants, Expiry& expiry, Sessions& sessions, Deadlocks& deadlocks)
      : state_(state),
        events_(events),
        claims_(claims),
        limits_(limits),
        turns_(turns),
        wait_queue_(wait_queue),
        places_(places),
        answers_(answers),
        grants_(grants),
        expiry_(expiry),
        sessions_(sessions),
        deadlocks_(deadlocks) {}

  void Open(std::string_view name, Step step);
  void Close(std::string_view name, Step step);
  bool Knows(std::string_view name) const { return state_.channels.Find(name) != nullptr; }

 private:
  // Sorts the places by arrival and returns their locks in that order, each lock once.
  static std::vector<LockEntry*> LocksByArrival(Attachment::List& places);
  void ReturnToWait(Claim& place, Step step);
  // Grants what is possible on all the locks, and calls Expiry::End.
  void GrantAll(LockSpan locks, Step step);

  EngineState& state_;
  Events& events_;
  Claims claims_;
  Limits limits_;
  Turns turns_;
  WaitQueue& wait_queue_;
  Places& places_;
  Answers& answers_;
  Grants& grants_;
  Expiry& expiry_;
  Sessions& sessions_;
  Deadlocks& deadlocks_;
};

}  // namespace fairlock::engine
