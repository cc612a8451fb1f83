// MINHOLD: a hold that ends before its MINHOLD is over leaves a cooldown, which occupies the slot
// until the MINHOLD is over. BREAK, a transfer and an undone grant leave no cooldown.
#pragma once

#include "server/engine/state/engine_state.h"
#include "server/engine/state/hold_end.h"

namespace fairlock::engine {

// Loop-confined.
class Cooldowns {
 public:
  explicit Cooldowns(EngineState& state) : state_(state) {}

  void Begin(const Claim& claim, HoldEnd end, TimeMs now);
  void End(Cooldown& cooldown);

 private:
  EngineState& state_;
};

}  // namespace fairlock::engine
