// The time and the effects of one call of the engine.
#pragma once

#include "server/engine/api/effects.h"
#include "server/engine/containers/time.h"

namespace fairlock::engine {

// Passed by value, because it fits into two registers.
struct Step {
  TimeMs now;
  Effects& effects;
};

}  // namespace fairlock::engine
