// The lock engine, the effects that have not been delivered yet, and the listeners to its events.
#pragma once

#include "contracts/loop_confined.h"
#include "server/engine/api/effects.h"
#include "server/engine/api/event.h"
#include "server/engine/lock_engine.h"

namespace fairlock::command {

class Locks : contracts::LoopConfined {
 public:
  explicit Locks(const engine::EngineOptions& options) : engine_(options) {}

  engine::LockEngine& engine() {
    AssertInLoop();
    return engine_;
  }
  const engine::LockEngine& engine() const {
    AssertInLoop();
    return engine_;
  }
  engine::Effects& effects() { return effects_; }
  // Returns the time and the effects, which must be passed to each call of the engine.
  engine::Step StepAt(engine::TimeMs now) { return {now, effects_}; }

  // The sink gets every event until it is dropped. While there is no sink, the engine creates no
  // events, so they cost nothing.
  void AddEventSink(engine::EventSink& sink) {
    events_.Add(sink);
    engine_.set_event_sink(events_.entrance());
  }
  void DropEventSink(engine::EventSink& sink) {
    events_.Remove(sink);
    engine_.set_event_sink(events_.entrance());
  }

 private:
  engine::EventFan events_;
  engine::LockEngine engine_;
  engine::Effects effects_;
};

}  // namespace fairlock::command
