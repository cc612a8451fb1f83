// Decides which connections a turn reads and executes, and in which order.
#pragma once

#include <cstddef>

#include "contracts/loop_confined.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

// Light connections come first, then a bounded number of deferred ones, then those whose scripts
// wait for their turn.
class RequestScheduler : contracts::LoopConfined {
 public:
  // `turn` must outlive it.
  explicit RequestScheduler(Turn& turn) : turn_(turn) {}

  // Called before the wait.
  void BeginTurn() { earlier_ = turn_.to_execute.size(); }
  // Reads the ready connections that are light, then some of the deferred ones.
  void Receive();
  // Closes waiting connections whose client has disconnected.
  void CloseDisconnected();
  // Executes the requests of light connections, then those of the deferred ones that were read, but
  // no scripts.
  void Execute();
  // Called when the replies to those have been sent. Scripts wait until the garbage of earlier ones
  // is collected.
  void ExecuteScripts();

 private:
  void ReceiveFromReady();
  void ReceiveFromDeferred();
  void ExecuteLight();
  void ExecuteDeferred();
  // Collects for a bounded time. Returns whether nothing is left.
  bool CollectGarbage();

  Turn& turn_;
  std::size_t earlier_ = 0;              // the first connections of to_execute, from earlier turns
  std::size_t deferred_to_execute_ = 0;  // the first connections of `deferred`, which were read
  std::size_t deferred_work_max_ = 0;    // the limit on work for deferred connections in this turn
  engine::TimeMs light_served_at_ = 0;   // when a light connection was last served
};

}  // namespace fairlock::net
