#include "server/net/loop/turn_journal.h"

#include <utility>
#include <vector>

#include "server/net/resp/resp_connection.h"

namespace fairlock::net {

void TurnJournal::Set(persist::StateLog* state_log, std::function<void()> on_change) {
  turn_.state_log = state_log;
  on_change_ = std::move(on_change);
}

engine::TimeMs TurnJournal::NextDeadline() const {
  return turn_.state_log != nullptr ? turn_.state_log->NextDeadline() : engine::kNever;
}

void TurnJournal::BeginTurn() {
  AssertInLoop();
  if (turn_.state_log == nullptr) return;
  turn_.state_log->BeginTurn(turn_.now);
  const persist::StateLogState state = turn_.state_log->state();
  if (std::exchange(state_, state) != state) on_change_();
  ReleaseHeld();
}

void TurnJournal::EndTurn() {
  AssertInLoop();
  if (turn_.state_log != nullptr) turn_.state_log->EndTurn(turn_.now);
}

bool TurnJournal::Drain() {
  AssertInLoop();
  if (turn_.state_log == nullptr) return true;
  turn_.state_log->Seal(turn_.now);
  const bool is_complete =
      turn_.state_log->AwaitJournal(persist::kUnsureAfterMs + persist::kKeepUnsureMs);
  ReleaseHeld();
  return is_complete;
}

void TurnJournal::Stop() {
  AssertInLoop();
  if (turn_.state_log != nullptr) turn_.state_log->Stop(turn_.now);
}

void TurnJournal::ReleaseHeld() {
  std::erase_if(turn_.held,
                [](RespConnection* connection) { return connection->ReleaseIfComplete(); });
  turn_.tasks.insert(turn_.tasks.end(), turn_.held_tasks.begin(), turn_.held_tasks.end());
  turn_.held_tasks.clear();
}

}  // namespace fairlock::net
