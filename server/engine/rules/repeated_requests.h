// LOCK by a waiting owner: the later request takes over the place with its own options; the earlier
// request is answered as superseded.
#pragma once

#include "server/engine/api/requests.h"
#include "server/engine/api/step.h"
#include "server/engine/rules/answers.h"
#include "server/engine/rules/bounds.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/deadlocks.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/grants.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/turns.h"
#include "server/engine/rules/wait_queue.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class RepeatedRequests {
 public:
  RepeatedRequests(EngineState& state, Events& events, Bounds& bounds, const Claims& claims,
                   const Turns& turns, WaitQueue& wait_queue, Places& places, Answers& answers,
                   Grants& grants, Deadlocks& deadlocks)
      : state_(state),
        events_(events),
        bounds_(bounds),
        claims_(claims),
        turns_(turns),
        wait_queue_(wait_queue),
        places_(places),
        answers_(answers),
        grants_(grants),
        deadlocks_(deadlocks) {}

  // `place` is any claim of the owner's place.
  LockResult Repeat(Claim& place, const LockRequest& request, Attachment& from, Step step);

 private:
  void Supersede(Claim& place, const LockRequest& request, Step step);
  bool HasOptions(const Claim& place, const LockRequest& request) const;

  EngineState& state_;
  Events& events_;
  Bounds& bounds_;
  Claims claims_;
  Turns turns_;
  WaitQueue& wait_queue_;
  Places& places_;
  Answers& answers_;
  Grants& grants_;
  Deadlocks& deadlocks_;
};

}  // namespace fairlock::engine
