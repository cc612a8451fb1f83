// The simulator: connections and channels that open and close, and grants that were never read.

#include <algorithm>

#include "tests/simulation/simulator.h"

namespace fairlock::simulation {

void Simulator::Unblock(int connection) {
  driver_.Unblock(connection, now_, engine_outcome_);
  AskLedger(ledger_.ObserveUnblock(connection, engine_outcome_, now_));
  NoteDeliveries(nullptr);
  if (!options_.judges.has_model) return;
  model_.Unblock(connection, now_, model_outcome_);
  Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
  CompareState({});
}

bool Simulator::UndoGrantsTo(int connection, std::size_t undone) {
  for (std::size_t i = 0; i < undone && !problem_; ++i) {
    const auto latest =
        std::find_if(deliveries_.rbegin(), deliveries_.rend(),
                     [&](const Delivery& delivery) { return delivery.connection == connection; });
    if (latest == deliveries_.rend()) break;
    const Delivery delivery = *latest;
    deliveries_.erase(std::next(latest).base());
    const std::size_t more = UndoGrant(delivery);
    // A closed connection does not read these new grants either; on a channel, another subscriber
    // reads them.
    if (!IsChannel(connection)) undone += more;
  }
  return !problem_;
}

void Simulator::Subscribe(const Call& call) {
  const auto index = static_cast<std::size_t>(call.channel);
  if (is_open_[index]) {
    UndoGrantsTo(ConnectionOfChannel(call.channel), call.undone);
    return;
  }
  is_open_[index] = true;
  driver_.OpenChannel(call.channel, now_, engine_outcome_);
  AskLedger(ledger_.ObserveOpen(call.channel, engine_outcome_, now_));
  NoteDeliveries(nullptr);
  if (!options_.judges.has_model) return;
  model_.OpenChannel(call.channel, now_, model_outcome_);
  Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
  CompareState({});
}

// The subscriber leaves before the grants that it did not read are undone.
void Simulator::Unsubscribe(const Call& call) {
  const auto index = static_cast<std::size_t>(call.channel);
  if (!is_open_[index]) return;
  is_open_[index] = false;
  driver_.CloseChannel(call.channel, now_, engine_outcome_);
  AskLedger(ledger_.ObserveClose(call.channel, engine_outcome_, now_));
  NoteDeliveries(nullptr);
  if (options_.judges.has_model) {
    model_.CloseChannel(call.channel, now_, model_outcome_);
    Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
    CompareState({});
  }
  AddToHash(engine_outcome_);
  engine_outcome_.Clear();
  model_outcome_.Clear();
  const int connection = ConnectionOfChannel(call.channel);
  UndoGrantsTo(connection, call.undone);
  std::erase_if(deliveries_, [&](const Delivery& d) { return d.connection == connection; });
}

void Simulator::Disconnect(int connection, std::size_t undone) {
  if (!UndoGrantsTo(connection, undone)) return;
  std::erase_if(deliveries_, [&](const Delivery& d) { return d.connection == connection; });
  driver_.Disconnect(connection, now_, engine_outcome_);
  AskLedger(ledger_.ObserveDisconnect(connection, engine_outcome_, now_));
  NoteDeliveries(nullptr);
  if (!options_.judges.has_model) return;
  model_.Disconnect(connection, now_, model_outcome_);
  Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
  CompareState({});
}

std::size_t Simulator::UndoGrant(const Delivery& delivery) {
  const bool is_undone = driver_.UndoGrant(delivery.key, delivery.token, now_, engine_outcome_);
  if (options_.trace != nullptr) {
    *options_.trace << " (undo token " << delivery.token << " on k" << delivery.key << ": "
                    << Describe(engine_outcome_) << ")";
  }
  AskLedger(ledger_.ObserveUndo(delivery.token, engine_outcome_, now_));
  NoteDeliveries(nullptr);
  std::size_t more = 0;
  for (const Answer& answer : engine_outcome_.answers) {
    if (answer.connection == delivery.connection && answer.token != 0) ++more;
  }
  if (options_.judges.has_model) {
    const bool is_on_key = model_.key(delivery.key).FindToken(delivery.token).has_value();
    model_.UndoGrant(delivery.token, now_, model_outcome_);
    Fail(comparison_.CompareOutcomes(engine_outcome_, model_outcome_));
    CompareState(is_undone && is_on_key ? std::vector{delivery.key} : std::vector<int>{});
  }
  AddToHash(engine_outcome_);
  engine_outcome_.Clear();
  model_outcome_.Clear();
  return more;
}

}  // namespace fairlock::simulation
