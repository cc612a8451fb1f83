// SET NX: a value that is denied is marked. If it is requested again within the keep time of its
// key, it gets a place that dates from its first request. Each further request prolongs the place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "server/engine/api/requests.h"
#include "server/engine/api/step.h"
#include "server/engine/rules/bounds.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/places.h"
#include "server/engine/rules/repeated_requests.h"
#include "server/engine/rules/turns.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class ValuePlaces {
 public:
  ValuePlaces(EngineState& state, Events& events, Bounds& bounds, const Claims& claims,
              const Turns& turns, Places& places, RepeatedRequests& repeated_requests)
      : state_(state),
        events_(events),
        bounds_(bounds),
        claims_(claims),
        turns_(turns),
        places_(places),
        repeated_requests_(repeated_requests) {}

  LockResult AskAgain(std::uint64_t hash, Claim& place, const LockRequest& request,
                      Attachment& from, Step step);
  void Mark(LockEntry& lock, const LockRequest& request, const Attachment& from, TimeMs now);
  // How long the place of a SET NX is kept after its request; 0: it gets no place.
  DurationMs KeepOfValues(std::string_view key) const {
    const DurationMs keep_ms = state_.options.keep_rules.KeepOf(key);
    return std::min(keep_ms, state_.options.keep_ms_max);
  }

 private:
  EngineState& state_;
  Events& events_;
  Bounds& bounds_;
  Claims claims_;
  Turns turns_;
  Places& places_;
  RepeatedRequests& repeated_requests_;
};

}  // namespace fairlock::engine
