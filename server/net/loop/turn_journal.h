// The steps of a turn that concern the journal.
#pragma once

#include <functional>

#include "contracts/loop_confined.h"
#include "server/net/turn/turn.h"
#include "server/persist/state_log.h"

namespace fairlock::net {

// Does nothing while Turn::state_log is null.
class TurnJournal : contracts::LoopConfined {
 public:
  // `turn` must outlive it.
  explicit TurnJournal(Turn& turn) : turn_(turn) {}

  void Set(persist::StateLog* state_log, std::function<void()> on_change);
  // Whether the journal is so far behind that the turn reads and executes nothing.
  bool is_lagging() const { return turn_.state_log != nullptr && turn_.state_log->is_lagging(); }
  engine::TimeMs NextDeadline() const;

  // Releases the output and the tasks whose batches the journal has completed.
  void BeginTurn();
  // Hands the changes of the turn to the journal.
  void EndTurn();

  // Used when the server stops. Waits until the journal has completed everything, and releases all
  // output. Returns false if a fleet's leader has waited too long for etcd to keep its clients.
  bool Drain();
  // Writes the state for the last time.
  void Stop();

 private:
  void ReleaseHeld();

  Turn& turn_;
  std::function<void()> on_change_;
  persist::StateLogState state_;
};

}  // namespace fairlock::net
