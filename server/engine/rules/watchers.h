// WAIT: a watcher is answered when all holds that existed when it was created have ended.
#pragma once

#include "server/engine/api/step.h"
#include "server/engine/rules/answers.h"
#include "server/engine/state/engine_state.h"
#include "server/engine/state/lock_entry.h"

namespace fairlock::engine {

// Loop-confined.
class Watchers {
 public:
  Watchers(EngineState& state, Answers& answers) : state_(state), answers_(answers) {}

  void AnswerEnded(LockEntry& lock, Effects& effects);
  void Destroy(Watcher& watcher);

 private:
  EngineState& state_;
  Answers& answers_;
};

}  // namespace fairlock::engine
