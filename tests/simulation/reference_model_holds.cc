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
  const auto index = key.FindHold(call.owner);
  if (index && (!call.token || *call.token == key.holds[*index].token)) {
    const ModelHold hold = key.holds[*index];
    RemoveAt(key.holds, *index);
    ++totals_.released;
    outcome.number = 1;
    Cool(key, hold, now);
  }
  if (!call.token) EndPlaceOf(call, outcome);
  LookAgain(call.key, now, outcome);
}

bool ReferenceModel::EndPlaceOf(const Call& call, Outcome& outcome) {
  ModelKey& key = At(call);
  const auto index = key.FindPlace(call.owner);
  if (!index) return false;
  const ModelPlace place = key.line[*index];
  RemoveAt(key.line, *index);
  if (place.state == PlaceState::kWaiting) {
    outcome.answers.push_back({place.connection, call.key, ResolutionKind::kCancelled, 0});
  }
  return true;
}

void ReferenceModel::Renew(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const auto index = key.FindHold(call.owner);
  if (!index) return;
  ModelHold& hold = key.holds[*index];
  if (call.token && *call.token != hold.token) return;
  if (hold.session_grace_ms && hold.session_connection == kAbsent) return;
  hold.is_confirmed = true;
  outcome.number = 1;
  if (call.lease_ms) hold.lease_ms = *call.lease_ms;
  if (hold.lease_ms > 0) hold.lease_end = After(now, hold.lease_ms);
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
  outcome.number = EndPlaceOf(call, outcome);
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
  TransferLease(call, hold, now);
  if (const auto index = key.FindPlace(call.new_owner)) {
    const ModelPlace place = key.line[*index];
    RemoveAt(key.line, *index);
    hold.client = place.connection;
    if (place.meta != kAbsent) hold.meta = place.meta;
    if (place.label != kAbsent) hold.label = place.label;
    if (place.state == PlaceState::kWaiting) {
      outcome.answers.push_back({place.connection, call.key, ResolutionKind::kGranted, hold.token});
    }
  }
  key.holds.push_back(hold);
  outcome.status = static_cast<int>(TransferStatus::kTransferred);
  outcome.token = hold.token;
  LookAgain(call.key, now, outcome);
}

// The lease left goes along; a session does not.
void ReferenceModel::TransferLease(const Call& call, ModelHold& hold, TimeMs now) const {
  hold.session_grace_ms.reset();
  hold.session_connection = kAbsent;
  hold.grace_end = engine::kNever;
  hold.came_from.reset();
  hold.is_confirmed = true;
  if (!call.lease_ms && hold.lease_end < engine::kNever) return;
  hold.lease_ms = call.lease_ms.value_or(default_lease_ms_);
  hold.lease_end = After(now, hold.lease_ms);
}

void ReferenceModel::Break(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const auto ended = std::erase_if(key.holds, [&](const ModelHold& hold) {
    return call.owner == kAbsent || hold.owner == call.owner;
  });
  if (call.owner == kAbsent) {
    key.cooling.clear();
    std::erase_if(key.line, [](const ModelPlace& place) { return place.is_reserved; });
  }
  totals_.broken += ended;
  outcome.number = static_cast<std::int64_t>(ended);
  LookAgain(call.key, now, outcome);
}

}  // namespace fairlock::simulation
