// LOCK: granted at once if the lock is free and nobody is ahead; otherwise the request waits, keeps
// a place, or is denied with the reason.
#pragma once

#include <cstdint>

#include "server/engine/api/requests.h"
#include "server/engine/api/step.h"
#include "server/engine/rules/bounds.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/deadlocks.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/rules/full_queues.h"
#include "server/engine/rules/holds.h"
#include "server/engine/rules/limits.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/repeated_holds.h"
#include "server/engine/rules/repeated_requests.h"
#include "server/engine/rules/turns.h"
#include "server/engine/rules/value_places.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class LockRequests {
 public:
  LockRequests(EngineState& state, Events& events, Bounds& bounds, const Claims& claims,
               Holds& holds, const Limits& limits, const Turns& turns, Places& places,
               Expiry& expiry, Deadlocks& deadlocks, FullQueues& full_queues,
               RepeatedHolds& repeated_holds, RepeatedRequests& repeated_requests,
               ValuePlaces& value_places)
      : state_(state),
        events_(events),
        bounds_(bounds),
        claims_(claims),
        holds_(holds),
        limits_(limits),
        turns_(turns),
        places_(places),
        expiry_(expiry),
        deadlocks_(deadlocks),
        full_queues_(full_queues),
        repeated_holds_(repeated_holds),
        repeated_requests_(repeated_requests),
        value_places_(value_places) {}

  LockResult Lock(const LockRequest& request, Attachment& from, Step step);
  LockResult GrantAtOnce(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                         Attachment& from, TimeMs now);

 private:
  LockResult GrantNewLock(std::uint64_t hash, const LockRequest& request, Attachment& from,
                          TimeMs now);
  LockResult AskDrained(std::uint64_t hash, const LockRequest& request, Attachment& from,
                        Step step);
  LockResult AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                     Attachment& from, Step step);

  EngineState& state_;
  Events& events_;
  Bounds& bounds_;
  Claims claims_;
  Holds& holds_;
  Limits limits_;
  Turns turns_;
  Places& places_;
  Expiry& expiry_;
  Deadlocks& deadlocks_;
  FullQueues& full_queues_;
  RepeatedHolds& repeated_holds_;
  RepeatedRequests& repeated_requests_;
  ValuePlaces& value_places_;
};

}  // namespace fairlock::engine
