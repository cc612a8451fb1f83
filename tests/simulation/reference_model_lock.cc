// The reference model: LOCK (rules 1, 2, 3, 5 and 7).

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

using engine::DenialReason;
using engine::LockStatus;
using engine::ResolutionKind;

ModelPlace ReferenceModel::PlaceOf(const Call& call, TimeMs now) const {
  return {.owner = call.owner,
          .arrival = next_arrival_,
          .limit = call.limit.value_or(1),
          .since = now,
          .give_up = After(now, call.wait_ms),
          .lease_ms = call.lease_ms.value_or(default_lease_ms_),
          .meta = call.meta,
          .label = call.label,
          .connection = call.connection};
}

Token ReferenceModel::GiveHold(ModelKey& key, const ModelPlace& place, TimeMs now) {
  const Token token = next_token_++;
  key.holds.push_back({.owner = place.owner,
                       .token = token,
                       .limit = place.limit,
                       .since = now,
                       .end = After(now, place.lease_ms),
                       .lease_ms = place.lease_ms,
                       .meta = place.meta,
                       .label = place.label,
                       .client = place.connection});
  ++totals_.granted;
  ++key.acquired;
  return token;
}

DenialReason ReferenceModel::WhyNot(const ModelKey& key, int owner, std::uint32_t limit) const {
  if (!key.HasRoomFor(limit)) return DenialReason::kHeld;
  const bool is_next = key.line.empty() || key.line.front().owner == owner;
  return is_next ? DenialReason::kNone : DenialReason::kLine;
}

void ReferenceModel::Lock(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  if (key.FindHold(call.owner)) return RepeatLock(call, now, outcome);
  if (key.FindPlace(call.owner)) return LockAgainWhileWaiting(call, now, outcome);
  const DenialReason reason = WhyNot(key, call.owner, call.limit.value_or(1));
  if (reason == DenialReason::kNone) {
    if (key.IsEmpty() && CountLocks() >= setting_.engine.locks_max) {
      outcome.status = static_cast<int>(LockStatus::kTooManyLocks);
      return;
    }
    outcome.token = GiveHold(key, PlaceOf(call, now), now);
    outcome.status = static_cast<int>(LockStatus::kGranted);
    return;
  }
  if (call.wait_ms == 0) return Deny(call, reason, outcome);
  JoinLine(call, now, outcome);
}

// Rule 1: by an owner that holds it.
void ReferenceModel::RepeatLock(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  ModelHold& hold = key.holds[*key.FindHold(call.owner)];
  if (call.only_new) return Deny(call, DenialReason::kHeld, outcome);
  if (hold.limit > 1 && call.limit.value_or(1) < hold.limit) {
    outcome.status = static_cast<int>(LockStatus::kLimitDiffers);
    return;
  }
  const DurationMs asked_ms = call.lease_ms.value_or(default_lease_ms_);
  hold.end = std::max(hold.end, After(now, asked_ms));
  hold.lease_ms = std::max(hold.lease_ms, asked_ms);
  if (call.meta != kAbsent) hold.meta = call.meta;
  if (call.label != kAbsent) hold.label = call.label;
  hold.client = call.connection;
  outcome.status = static_cast<int>(LockStatus::kAlready);
  outcome.token = hold.token;
}

// Rule 5: by an owner that stands in line.
void ReferenceModel::LockAgainWhileWaiting(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const std::size_t index = *key.FindPlace(call.owner);
  const ModelPlace earlier = key.line[index];
  const DenialReason reason = WhyNot(key, call.owner, call.limit.value_or(1));
  if (reason != DenialReason::kNone && call.wait_ms == 0) return Deny(call, reason, outcome);
  outcome.answers.push_back({earlier.connection, call.key, ResolutionKind::kSuperseded, 0});
  ModelPlace place = PlaceOf(call, now);
  if (reason == DenialReason::kNone) {
    RemoveAt(key.line, index);
    outcome.token = GiveHold(key, place, now);
    outcome.status = static_cast<int>(LockStatus::kGranted);
    ++totals_.granted_after_wait;
    ++key.granted_after_wait;
    LookAgain(call.key, now, outcome);
    return;
  }
  place.arrival = earlier.arrival;
  place.since = earlier.since;
  key.line[index] = place;
  outcome.status = static_cast<int>(LockStatus::kQueued);
  outcome.reason = static_cast<int>(reason);
}

void ReferenceModel::JoinLine(const Call& call, TimeMs now, Outcome& outcome) {
  if (CountWaiting() >= setting_.engine.places_max) {
    outcome.status = static_cast<int>(LockStatus::kTooManyPlaces);
    return;
  }
  ModelKey& key = At(call);
  outcome.reason = static_cast<int>(WhyNot(key, call.owner, call.limit.value_or(1)));
  outcome.status = static_cast<int>(LockStatus::kQueued);
  key.line.push_back(PlaceOf(call, now));
  ++next_arrival_;
}

void ReferenceModel::Deny(const Call& call, DenialReason reason, Outcome& outcome) {
  outcome.status = static_cast<int>(LockStatus::kDenied);
  outcome.reason = static_cast<int>(reason);
  ++totals_.denied;
  ++At(call).denied;
}

}  // namespace fairlock::simulation
