#include "server/engine/lock_engine.h"

namespace fairlock::engine {

LockEngine::LockEngine(const EngineOptions& options) : state_(options), rules_(state_) {}

}  // namespace fairlock::engine
