// UNLOCK, CANCEL and BREAK: the owner releases its hold, or gives up its place; an operator ends
// the holds of any owner. The next waiter is granted in the same step.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/api/requests.h"
#include "server/engine/api/step.h"
#include "server/engine/rules/answers.h"
#include "server/engine/rules/claims.h"
#include "server/engine/rules/cooldowns.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/expiry.h"
#include "server/engine/rules/grants.h"
#include "server/engine/rules/holds.h"
#include "server/engine/rules/wait_queue.h"
#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

// Loop-confined.
class Releases {
 public:
  Releases(EngineState& state, Events& events, const Claims& claims, const Cooldowns& cooldowns,
           Holds& holds, WaitQueue& wait_queue, Answers& answers, Grants& grants, Expiry& expiry)
      : state_(state),
        events_(events),
        claims_(claims),
        cooldowns_(cooldowns),
        holds_(holds),
        wait_queue_(wait_queue),
        answers_(answers),
        grants_(grants),
        expiry_(expiry) {}

  bool Unlock(const UnlockRequest& request, Step step);
  bool Cancel(const KeyName& key, std::string_view owner, Step step);
  BreakResult Break(const KeyName& key, std::optional<std::string_view> owner, Step step);
  void CancelPlace(Claim& place, Step step);

 private:
  void EndReservationsAndCooldowns(LockEntry& lock, TimeMs now);

  EngineState& state_;
  Events& events_;
  Claims claims_;
  Cooldowns cooldowns_;
  Holds& holds_;
  WaitQueue& wait_queue_;
  Answers& answers_;
  Grants& grants_;
  Expiry& expiry_;
};

}  // namespace fairlock::engine
