// The reference model: operations on existing holds, places and watchers.

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

using engine::EventKind;
using engine::ResolutionKind;
using engine::TransferStatus;
using engine::WaitStatus;

void ReferenceModel::Unlock(int key, const Call& call, TimeMs now, Outcome& outcome) {
  const auto index = At(key).FindHold(call.owner);
  if (index && (!call.token || *call.token == At(key).holds[*index].token)) {
    Release(key, *index, now, outcome);
    ++outcome.number;
  } else if (!call.token) {
    if (EndPlaceOf(key, call.owner, outcome)) LookAgain(key, now, outcome);
  }
}

void ReferenceModel::Release(int key, std::size_t index, TimeMs now, Outcome& outcome) {
  const ModelHold hold = At(key).holds[index];
  RemoveAt(At(key).holds, index);
  ++totals_.released;
  Tell(EventKind::kReleased, key, hold);
  Cool(At(key), hold, now);
  LookAgain(key, now, outcome);
}

// Rule 12: the place of an MLOCK ends on all of its keys.
bool ReferenceModel::EndPlaceOf(int key, int owner, Outcome& outcome) {
  const auto index = At(key).FindPlace(owner);
  if (!index) return false;
  const ModelPlace place = At(key).line[*index];
  TellPlace(EventKind::kCancelled, place);
  RemovePlace(place);
  NoteOthers(place.keys, key);
  if (place.state == PlaceState::kWaiting) {
    outcome.answers.push_back(AnswerTo(place, ResolutionKind::kCancelled));
  }
  return true;
}

bool ReferenceModel::IsRenewable(int key, const Call& call) const {
  const auto index = At(key).FindHold(call.owner);
  if (!index) return false;
  const ModelHold& hold = At(key).holds[*index];
  if (call.token && *call.token != hold.token) return false;
  if (hold.is_leaving) return false;
  return !hold.session_grace_ms || hold.session_connection != kAbsent;
}

void ReferenceModel::Renew(const Call& call, TimeMs now, Outcome& outcome) {
  const Keys keys = call.named();
  if (!std::ranges::all_of(keys, [&](int key) { return IsRenewable(key, call); })) return;
  outcome.number = 1;
  for (int key : keys) {
    ModelHold& hold = At(key).holds[*At(key).FindHold(call.owner)];
    ConfirmAll(hold.token);
    const ModelHold before = hold;
    if (call.lease_ms) hold.lease_ms = *call.lease_ms;
    hold.lease_end = LeaseEnd(now, hold.lease_ms);
    if (call.only_lengthens && before.lease_end >= hold.lease_end)
      hold.lease_end = before.lease_end;
    if (call.only_lengthens && before.lease_ms >= hold.lease_ms) hold.lease_ms = before.lease_ms;
    if (hold.lease_end == engine::kNever) hold.lease_ms = 0;
    Tell(EventKind::kRenewed, key, hold);
  }
}

void ReferenceModel::Wait(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call.key);
  if (key.holds.empty()) {
    outcome.status = static_cast<int>(WaitStatus::kFree);
  } else if (call.wait_ms == 0) {
    outcome.status = static_cast<int>(WaitStatus::kTimedOut);
  } else if (is_short_of_memory_) {
    outcome.status = static_cast<int>(WaitStatus::kOutOfMemory);
  } else if (CountWaiting() >= setting_.engine.places_max) {
    outcome.status = static_cast<int>(WaitStatus::kTooManyPlaces);
  } else if (CountInLine(call.key) >= setting_.engine.places_per_key_max) {
    outcome.status = static_cast<int>(WaitStatus::kTooManyOnKey);
  } else {
    outcome.status = static_cast<int>(WaitStatus::kWaiting);
    key.watchers.push_back({.arrival = next_arrival_++,
                            .newest_token = key.NewestToken(),
                            .give_up = After(now, call.wait_ms),
                            .connection = call.connection});
  }
}

void ReferenceModel::Cancel(const Call& call, TimeMs now, Outcome& outcome) {
  const auto index = At(call.key).FindPlace(call.owner);
  if (!index) return;
  const bool is_mark = At(call.key).line[*index].is_mark;
  EndPlaceOf(call.key, call.owner, outcome);
  outcome.number = is_mark ? 0 : 1;
  LookAgain(call.key, now, outcome);
}

void ReferenceModel::Transfer(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call.key);
  const auto from = key.FindHold(call.owner);
  if (!from || (call.token && *call.token != key.holds[*from].token)) {
    outcome.status = static_cast<int>(TransferStatus::kNotHeld);
    return;
  }
  if (key.FindHold(call.new_owner)) {
    outcome.status = static_cast<int>(TransferStatus::kNewOwnerHoldsAlready);
    return;
  }
  ConfirmAll(key.holds[*from].token);
  ModelHold hold = key.holds[*from];
  RemoveAt(key.holds, *from);
  TellLoss(call.key, hold, EventKind::kTransferred, outcome);
  hold.channel = kAbsent;
  hold.owner = call.new_owner;
  hold.keys = {call.key};
  hold.is_mlock = false;
  hold.rank = 0;
  const Token old_token = hold.token;
  hold.token = next_token_++;
  hold.since = now;
  hold.client = kAbsent;
  hold.is_redis_way = false;
  ++totals_.granted;
  ++key.acquired;
  TransferLease(call, hold, now);
  const auto index = key.FindPlace(call.new_owner);
  if (index && key.line[*index].is_mlock) {
    // Rule 12: an MLOCK never holds only some of its keys, so the new owner's place ends.
    EndPlaceOf(call.key, call.new_owner, outcome);
  } else if (index) {
    const ModelPlace place = key.line[*index];
    RemovePlace(place);
    hold.client = place.connection;
    hold.channel = place.channel;
    if (place.meta != kAbsent) hold.meta = place.meta;
    if (place.label != kAbsent) hold.label = place.label;
    if (place.state == PlaceState::kWaiting) {
      outcome.answers.push_back(AnswerTo(place, ResolutionKind::kGranted, hold.token));
    }
  }
  key.holds.push_back(hold);
  Tell(EventKind::kTransferred, call.key, hold, call.owner);
  if (hold.is_leaving) TellLeaving(call.key, hold, old_token);
  outcome.status = static_cast<int>(TransferStatus::kTransferred);
  outcome.token = hold.token;
  LookAgain(call.key, now, outcome);
}

// The remaining lease is transferred, but a session is not.
void ReferenceModel::TransferLease(const Call& call, ModelHold& hold, TimeMs now) const {
  const bool was_only_session = hold.session_grace_ms && hold.lease_end == engine::kNever;
  hold.session_grace_ms.reset();
  hold.session_connection = kAbsent;
  hold.grace_end = engine::kNever;
  hold.came_from.reset();
  hold.is_confirmed = true;
  if (!call.lease_ms && !was_only_session) return;
  const ModelHold before = hold;
  hold.lease_ms = call.lease_ms.value_or(default_lease_ms_);
  hold.lease_end = After(now, hold.lease_ms);
  if (hold.is_leaving) KeepEnd(before, hold);
}

// Rule 18: nothing lengthens a hold that leaves.
void ReferenceModel::KeepEnd(const ModelHold& before, ModelHold& hold) {
  hold.lease_end = std::min(hold.lease_end, before.lease_end);
  hold.lease_ms = hold.lease_ms == 0 ? before.lease_ms : std::min(hold.lease_ms, before.lease_ms);
}

// Rule 18: BREAK with GRACE fixes the end of the holds, and a second one can only bring it forward.
void ReferenceModel::GiveNotice(const Call& call, TimeMs now, Outcome& outcome) {
  for (ModelHold& hold : At(call.key).holds) {
    if (call.owner != kAbsent && hold.owner != call.owner) continue;
    ++outcome.number;
    const TimeMs end = std::min(hold.lease_end, After(now, call.grace_ms));
    if (hold.is_leaving && end == hold.lease_end) continue;
    hold.is_leaving = true;
    hold.lease_end = end;
    hold.lease_ms = std::max<DurationMs>(end - now, 1);
    hold.cool_until = 0;
    TellLeaving(call.key, hold, 0);
  }
}

void ReferenceModel::Break(const Call& call, TimeMs now, Outcome& outcome) {
  if (call.grace_ms > 0) return GiveNotice(call, now, outcome);
  ModelKey& key = At(call.key);
  for (const ModelPlace& place : key.line) {
    if (call.owner == kAbsent && place.is_reserved) TellPlace(EventKind::kCancelled, place);
  }
  const auto ended = std::erase_if(key.holds, [&](const ModelHold& hold) {
    if (call.owner != kAbsent && hold.owner != call.owner) return false;
    Tell(EventKind::kBroken, call.key, hold);
    TellLoss(call.key, hold, EventKind::kBroken, outcome);
    return true;
  });
  if (call.owner == kAbsent) {
    outcome.extra = static_cast<std::int64_t>(key.cooling.size() + key.CountReserved());
    key.cooling.clear();
    const std::vector<ModelPlace> line = key.line;
    for (const ModelPlace& place : line) {
      if (!place.is_reserved) continue;
      RemovePlace(place);
      NoteOthers(place.keys, call.key);
    }
  }
  totals_.broken += ended;
  outcome.number = static_cast<std::int64_t>(ended);
  LookAgain(call.key, now, outcome);
}

}  // namespace fairlock::simulation
