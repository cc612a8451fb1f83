// WAIT: the request is answered when every hold that exists now has ended; later holds do not
// count.
#pragma once

#include "server/engine/api/requests.h"
#include "server/engine/api/step.h"
#include "server/engine/rules/bounds.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class WaitRequests {
 public:
  WaitRequests(EngineState& state, Bounds& bounds, Expiry& expiry)
      : state_(state), bounds_(bounds), expiry_(expiry) {}

  WaitStatus Wait(const WaitRequest& request, Attachment& from, Step step);

 private:
  EngineState& state_;
  Bounds& bounds_;
  Expiry& expiry_;
};

}  // namespace fairlock::engine
