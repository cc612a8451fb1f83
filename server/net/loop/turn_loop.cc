#include "server/net/loop/turn_loop.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <utility>

#include "server/net/clock.h"

namespace fairlock::net {

TurnLoop::TurnLoop(command::ServerParts& server, NetEvents& events, const LoopOptions& options)
    : turn_(server, events, options.limits),
      wait_(turn_),
      connections_(turn_, options.connections_max),
      requests_(turn_),
      deadlines_(turn_),
      journal_(turn_),
      listeners_(wait_.io_context(), options.sockets) {
  turn_.now = BoottimeMs();
}

TurnLoop::~TurnLoop() {
  listeners_.Close();
  connections_.CloseAll(CloseReason::kServerStops);
  turn_.to_execute.clear();
  turn_.deferred.clear();
  turn_.scripts.EraseIf([](const ScriptSender*) { return true; });
  turn_.to_finish.clear();
  wait_.Close();
  // Every pending wait ends with the error "aborted".
  do {
    io_context().restart();
    io_context().poll();
  } while (!wait_.is_disposable() || !listeners_.is_disposable());
  while (!turn_.closed.empty()) connections_.DestroyClosed();
}

void TurnLoop::StartListening(std::vector<ListeningSocket> sockets, ConnectionSink* sink) {
  listeners_.Start(std::move(sockets), sink == nullptr ? connections_ : *sink);
}

void TurnLoop::Run() {
  const auto work = boost::asio::make_work_guard(io_context());
  while (stop_ != Stop::kBegun || !connections_.empty()) RunTurn();
}

void TurnLoop::RunTurn() {
  turn_.arena.Clear();
  const bool executes = ReceiveRequests();
  turn_.now = std::max(turn_.now, BoottimeMs());
  ++turn_.server.statistics.counters.turns;
  journal_.BeginTurn();
  requests_.CloseDisconnected();
  ExpireDue();
  if (executes) ExecuteRequests();
  if (!journal_.is_lagging()) deadlines_.RefuseOverdue();
  RunTasks();
  connections_.Finish();
  CloseIfAsked();
  connections_.BoundBuffers();
  connections_.WatchUnread();
  StopIfAsked();
  journal_.EndTurn();
  connections_.DestroyClosed();
  listeners_.Accept(turn_.limits.accepts_max, turn_.now);
  turn_.server.statistics.counters.turns_us.Count((MonotonicNs() - wait_.ended_ns()) / 1000);
}

// Replies do not wait for scripts.
void TurnLoop::ExecuteRequests() {
  requests_.Execute();
  if (turn_.scripts.empty() && !turn_.server.scripts.has_garbage()) return;
  connections_.Finish();
  requests_.ExecuteScripts();
}

bool TurnLoop::ReceiveRequests() {
  requests_.BeginTurn();
  if (journal_.is_lagging()) {
    wait_.AwaitJournal();
    return false;
  }
  if (wait_.Await(WaitMsMax())) requests_.Receive();
  return true;
}

engine::DurationMs TurnLoop::WaitMsMax() const {
  const bool is_work_left = is_more_due_ || turn_.is_more_ready || !turn_.to_execute.empty() ||
                            !turn_.deferred.empty() || !turn_.scripts.empty() ||
                            !turn_.closed.empty() || !turn_.tasks.empty() ||
                            turn_.server.scripts.has_garbage();
  if (is_work_left || stop_ == Stop::kAsked) return 0;
  const engine::TimeMs next =
      std::min({turn_.server.NextDeadline(), stop_until_, journal_.NextDeadline(),
                connections_.next_watch_at(), deadlines_.next(), listeners_.next_accept_at()});
  if (next == engine::kNever) return TurnWait::kUntilReady;
  if (next <= turn_.now) return 0;
  return std::clamp<engine::DurationMs>(next - BoottimeMs(), 0, TurnWait::kTimedMsMax);
}

void TurnLoop::ExpireDue() {
  const engine::TimeMs due = turn_.server.NextDeadline();
  is_more_due_ = turn_.server.Advance(turn_.now, turn_.limits.timers_max);
  // 0 means "at once", and is not a time from which a lag could be measured.
  if (due <= 0 || due > turn_.now) return;
  turn_.server.statistics.counters.expiry_lag_ms.Count(turn_.now - due);
}

void TurnLoop::RunTasks() {
  // The changes that they make would no longer be persisted.
  if (stop_ == Stop::kBegun) turn_.tasks.clear();
  // Tasks that are added in the meantime run in the next turn. So do the remaining ones if the
  // others have used up the allowance for work.
  const command::WorkMeter& meter = turn_.server.work;
  const std::uint64_t work_max =
      meter.total() + turn_.limits.light_bytes_max * command::WorkMeter::kWorkPerByte;
  std::size_t left = turn_.tasks.size();
  for (; left > 0 && !turn_.tasks.empty() && meter.total() <= work_max; --left) {
    TurnTask* const task = turn_.tasks.front();
    turn_.tasks.erase(turn_.tasks.begin());
    task->TakeTurn(turn_.now);
  }
}

void TurnLoop::CloseConnections(CloseReason reason) {
  turn_.close_asked = reason;
  Wake();
}

void TurnLoop::CloseIfAsked() {
  if (!turn_.close_asked || stop_ != Stop::kNone) return;
  connections_.CloseAll(*std::exchange(turn_.close_asked, std::nullopt));
  // Connections may have been granted the locks of those that were closed before them.
  connections_.Finish();
}

void TurnLoop::RequestStop() {
  if (stop_ == Stop::kNone) stop_ = Stop::kAsked;
}

void TurnLoop::StopIfAsked() {
  if (stop_ == Stop::kNone) return;
  if (stop_ == Stop::kAsked) {
    BeginStop();
  } else if (turn_.now >= stop_until_) {
    connections_.CloseAll(CloseReason::kServerStops);
  }
  connections_.Finish();
}

// Sends the replies whose batches are complete. Then writes the state for the last time, with the
// places of the waiters, and freezes the engine: any change that the end of a connection makes
// after this would not be persisted.
void TurnLoop::BeginStop() {
  stop_ = Stop::kBegun;
  stop_until_ = turn_.now + turn_.limits.stop_ms;
  listeners_.Close();
  // While etcd fails, the rest of the stop can take long. The clients ask another node meanwhile.
  if (!journal_.Drain()) {
    connections_.CloseAll(CloseReason::kNotConfirmed);
    while (!turn_.closed.empty()) connections_.DestroyClosed();
  }
  connections_.Finish();
  journal_.Stop();
  turn_.server.locks.engine().Freeze();
  turn_.server.values.store().Freeze();
  connections_.End();
}

}  // namespace fairlock::net
