#include "server/engine/lock_engine.h"

namespace fairlock::engine {

LockEngine::LockEngine(const EngineOptions& options) : state_(options), rules_(state_) {}

bool LockEngine::Advance(std::size_t steps_max, Step step) {
  const bool is_more_due = rules_.expiry.Advance(steps_max, step);
  return rules_.sessions.EndClosed(steps_max, step) || is_more_due;
}

}  // namespace fairlock::engine
