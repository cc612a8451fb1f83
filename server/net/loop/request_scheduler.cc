#include "server/net/loop/request_scheduler.h"

#include <utility>
#include <vector>

#include "server/net/resp/resp_connection.h"

namespace fairlock::net {

namespace {

// The cost of receiving from a connection and sending to it, in bytes of requests.
constexpr std::size_t kVisitBytes = 512;

// If no light client was served for this time, turns may be long: they delay nobody and cost less
// per command.
constexpr engine::DurationMs kNoLightClientsMs = 100;
constexpr std::size_t kWorkFactorWithoutLightClients = 16;

}  // namespace

void RequestScheduler::Receive() {
  ReceiveFromReady();
  ReceiveFromDeferred();
}

void RequestScheduler::ReceiveFromReady() {
  turn_.is_more_ready = false;
  for (const Readiness& readiness : turn_.readiness.Collect(turn_.limits.handlers_max)) {
    // The readiness set reports the remaining connections again in the next turn.
    if (turn_.arena.is_full()) return;
    readiness.connection->HandleReadiness(readiness);
  }
}

// A single deferred connection may use up the turn's whole allowance of work; several share it.
void RequestScheduler::ReceiveFromDeferred() {
  const bool has_light_clients = turn_.now - light_served_at_ <= kNoLightClientsMs;
  const std::size_t bytes_max =
      turn_.limits.deferred_bytes_max * (has_light_clients ? 1 : kWorkFactorWithoutLightClients);
  const std::size_t each = turn_.deferred.size() > 1 ? bytes_max / 2 : bytes_max;
  deferred_work_max_ = bytes_max;
  std::size_t bytes = 0;
  deferred_to_execute_ = 0;
  while (deferred_to_execute_ < turn_.deferred.size() && bytes < bytes_max) {
    if (turn_.arena.is_full()) return;
    bytes += kVisitBytes + turn_.deferred[deferred_to_execute_]->ReceiveDeferred(each);
    ++deferred_to_execute_;
  }
}

void RequestScheduler::CloseDisconnected() {
  AssertInLoop();
  for (RespConnection* connection : turn_.to_execute) connection->CloseIfDisconnected();
}

void RequestScheduler::Execute() {
  AssertInLoop();
  turn_.server.script_turns.BeginTurn();
  ExecuteLight();
  ExecuteDeferred();
}

void RequestScheduler::ExecuteLight() {
  std::vector<RespConnection*>& all = turn_.to_execute;
  if (!all.empty()) light_served_at_ = turn_.now;
  std::size_t work = 0;
  std::size_t left = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Connections from earlier turns must not use up the allowance of those that have just become
    // ready, because many of them may ask for long replies.
    if (i == earlier_) work = 0;
    // A connection whose request waits has nothing to execute, but its socket must still be
    // checked.
    if (work < turn_.limits.light_bytes_max || all[i]->is_waiting()) {
      work += all[i]->Execute();
    } else {
      all[i]->StoreArrived();
      all[left++] = all[i];
    }
  }
  all.resize(left);
}

void RequestScheduler::ExecuteDeferred() {
  std::size_t left = std::exchange(deferred_to_execute_, 0);
  std::size_t work = 0;
  // The length of a reply is only known after its execution.
  for (; left > 0 && work < deferred_work_max_; --left) {
    RespConnection* const connection = turn_.deferred.front();
    turn_.deferred.pop_front();
    work += kVisitBytes + connection->Execute();
  }
  for (std::size_t i = 0; i < left; ++i) turn_.deferred[i]->StoreArrived();
}

void RequestScheduler::ExecuteScripts() {
  AssertInLoop();
  command::ScriptTurns& turns = turn_.server.script_turns;
  turns.Open();
  if (turn_.server.scripts.has_garbage() && !CollectGarbage()) return;
  while (!turn_.scripts.empty() && !turns.MustWait()) {
    static_cast<RespConnection*>(turn_.scripts.TakeNext())->Execute();
  }
}

// Those who left it pay for it, as if their script had taken longer.
bool RequestScheduler::CollectGarbage() {
  command::ServerParts& server = turn_.server;
  server.scripts.CollectGarbage(server.environment.clock.MonotonicNs() +
                                command::ScriptTurns::kTurnNs);
  turn_.scripts.ChargeLast(server.script_turns.TakeProcessorNs());
  return !server.scripts.has_garbage();
}

}  // namespace fairlock::net
