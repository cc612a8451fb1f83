#include "server/net/loop/turn_journal.h"

#include <utility>
#include <vector>

#include "server/net/resp/resp_connection.h"

namespace fairlock::net {

void TurnJournal::Set(persist::Keeper* keeper, std::function<void()> on_change) {
  turn_.keeper = keeper;
  on_change_ = std::move(on_change);
}

engine::TimeMs TurnJournal::NextDeadline() const {
  return turn_.keeper != nullptr ? turn_.keeper->NextDeadline() : engine::kNever;
}

void TurnJournal::BeginTurn() {
  if (turn_.keeper == nullptr) return;
  turn_.keeper->BeginTurn(turn_.now);
  const persist::KeeperState state = turn_.keeper->state();
  if (std::exchange(state_, state) != state) on_change_();
  ReleaseHeld();
}

void TurnJournal::EndTurn() {
  if (turn_.keeper != nullptr) turn_.keeper->EndTurn(turn_.now);
}

void TurnJournal::Drain() {
  if (turn_.keeper == nullptr) return;
  turn_.keeper->Seal(turn_.now);
  turn_.keeper->AwaitJournal();
  ReleaseHeld();
}

void TurnJournal::Stop() {
  if (turn_.keeper != nullptr) turn_.keeper->Stop(turn_.now);
}

void TurnJournal::ReleaseHeld() {
  std::erase_if(turn_.held,
                [](RespConnection* connection) { return connection->ReleaseIfComplete(); });
  turn_.tasks.insert(turn_.tasks.end(), turn_.held_tasks.begin(), turn_.held_tasks.end());
  turn_.held_tasks.clear();
}

}  // namespace fairlock::net
