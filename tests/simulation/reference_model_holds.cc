// The reference model: what is done to holds, places and watchers that are there.

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

using engine::ResolutionKind;
using engine::TransferStatus;
using engine::WaitStatus;

void ReferenceModel::Unlock(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const auto hold = key.FindHold(call.owner);
  if (hold && (!call.token || *call.token == key.holds[*hold].token)) {
    RemoveAt(key.holds, *hold);
    ++totals_.released;
    outcome.number = 1;
  }
  const auto place = key.FindPlace(call.owner);
  if (place && !call.token) {
    outcome.answers.push_back(
        {key.line[*place].connection, call.key, ResolutionKind::kCancelled, 0});
    RemoveAt(key.line, *place);
  }
  LookAgain(call.key, now, outcome);
}

void ReferenceModel::Renew(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const auto index = key.FindHold(call.owner);
  if (!index) return;
  ModelHold& hold = key.holds[*index];
  if (call.token && *call.token != hold.token) return;
  if (call.lease_ms) hold.lease_ms = *call.lease_ms;
  hold.end = After(now, hold.lease_ms);
  outcome.number = 1;
}

void ReferenceModel::Wait(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  if (key.holds.empty()) {
    outcome.status = static_cast<int>(WaitStatus::kFree);
  } else if (call.wait_ms == 0) {
    outcome.status = static_cast<int>(WaitStatus::kTimedOut);
  } else if (CountWaiting() >= setting_.engine.places_max) {
    outcome.status = static_cast<int>(WaitStatus::kTooManyPlaces);
  } else {
    outcome.status = static_cast<int>(WaitStatus::kWaiting);
    key.watchers.push_back({.arrival = next_arrival_++,
                            .newest_token = key.NewestToken(),
                            .give_up = After(now, call.wait_ms),
                            .connection = call.connection});
  }
}

void ReferenceModel::Cancel(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const auto place = key.FindPlace(call.owner);
  if (!place) return;
  outcome.number = 1;
  outcome.answers.push_back({key.line[*place].connection, call.key, ResolutionKind::kCancelled, 0});
  RemoveAt(key.line, *place);
  LookAgain(call.key, now, outcome);
}

void ReferenceModel::Transfer(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const auto from = key.FindHold(call.owner);
  if (!from || (call.token && *call.token != key.holds[*from].token)) {
    outcome.status = static_cast<int>(TransferStatus::kNotHeld);
    return;
  }
  if (key.FindHold(call.new_owner)) {
    outcome.status = static_cast<int>(TransferStatus::kNewOwnerHoldsAlready);
    return;
  }
  ModelHold hold = key.holds[*from];
  RemoveAt(key.holds, *from);
  hold.owner = call.new_owner;
  hold.token = next_token_++;
  hold.since = now;
  hold.client = kAbsent;
  ++totals_.granted;
  ++key.acquired;
  if (call.lease_ms) {
    hold.lease_ms = *call.lease_ms;
    hold.end = After(now, *call.lease_ms);
  }
  if (const auto index = key.FindPlace(call.new_owner)) {
    const ModelPlace place = key.line[*index];
    RemoveAt(key.line, *index);
    hold.client = place.connection;
    if (place.meta != kAbsent) hold.meta = place.meta;
    if (place.label != kAbsent) hold.label = place.label;
    outcome.answers.push_back({place.connection, call.key, ResolutionKind::kGranted, hold.token});
  }
  key.holds.push_back(hold);
  outcome.status = static_cast<int>(TransferStatus::kTransferred);
  outcome.token = hold.token;
  LookAgain(call.key, now, outcome);
}

void ReferenceModel::Break(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const auto ended = std::erase_if(key.holds, [&](const ModelHold& hold) {
    return call.owner == kAbsent || hold.owner == call.owner;
  });
  totals_.broken += ended;
  outcome.number = static_cast<std::int64_t>(ended);
  LookAgain(call.key, now, outcome);
}

// Rule 6, of a waiter without KEEP: it leaves the line before anything overdue is done, so that it
// is not granted.
void ReferenceModel::Disconnect(int connection, TimeMs now, Outcome& outcome) {
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    ModelKey& key = keys_[static_cast<std::size_t>(index)];
    if (const auto watcher = key.FindWatcherOf(connection)) RemoveAt(key.watchers, *watcher);
    const auto place = key.FindPlaceOf(connection);
    if (!place) continue;
    RemoveAt(key.line, *place);
    Settle(index, now, outcome);
    LookAgain(index, now, outcome);
  }
}

// What is overdue comes first: its turn may have come.
void ReferenceModel::Unblock(int connection, TimeMs now, Outcome& outcome) {
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    ModelKey& key = keys_[static_cast<std::size_t>(index)];
    if (!key.FindWatcherOf(connection) && !key.FindPlaceOf(connection)) continue;
    Settle(index, now, outcome);
    if (const auto watcher = key.FindWatcherOf(connection)) EndWatcher(index, *watcher, outcome);
    if (const auto place = key.FindPlaceOf(connection)) EndPlace(index, *place, outcome);
    LookAgain(index, now, outcome);
  }
}

}  // namespace fairlock::simulation
