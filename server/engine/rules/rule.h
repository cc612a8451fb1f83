// What every rule of the engine has: the state, and the other rules.
#pragma once

#include "server/engine/state/engine_state.h"

namespace fairlock::engine {

struct EngineRules;

// Each rule derives from this class and is a member of EngineRules. It calls others by their names
// there.
class Rule {
 public:
  Rule(EngineState& state, EngineRules& rules) : state_(state), rules_(rules) {}
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

 protected:
  ~Rule() = default;

  EngineState& state_;
  EngineRules& rules_;
};

}  // namespace fairlock::engine
