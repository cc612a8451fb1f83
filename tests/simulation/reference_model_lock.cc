// The reference model: LOCK (rules 1 to 5, 7 to 10 and 14).

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

using engine::DenialReason;
using engine::LockStatus;
using engine::ResolutionKind;

ModelPlace ReferenceModel::PlaceOf(const Call& call, TimeMs now) const {
  const bool is_waiting = call.wait_ms > 0;
  return {.owner = call.owner,
          .arrival = next_arrival_,
          .state = is_waiting ? PlaceState::kWaiting : PlaceState::kKept,
          .mode = call.mode(),
          .since = now,
          .end = After(now, is_waiting ? call.wait_ms : call.keep_ms),
          .keep_ms = call.keep_ms,
          .lease_ms = call.LeaseAsked(default_lease_ms_),
          .session_grace_ms = call.session_grace_ms,
          .min_hold_ms = call.min_hold_ms,
          .meta = call.meta,
          .label = call.label,
          .connection = call.connection};
}

Token ReferenceModel::GiveHold(ModelKey& key, const ModelPlace& place, TimeMs now) {
  const Token token = next_token_++;
  key.holds.push_back({.owner = place.owner,
                       .token = token,
                       .mode = place.mode,
                       .since = now,
                       .lease_end = LeaseEnd(now, place.lease_ms),
                       .lease_ms = place.lease_ms,
                       .session_grace_ms = place.session_grace_ms,
                       .session_connection = place.session_grace_ms ? place.connection : kAbsent,
                       .bound = next_binding_++,
                       .cool_until = place.min_hold_ms > 0 ? After(now, place.min_hold_ms) : 0,
                       .meta = place.meta,
                       .label = place.label,
                       .client = place.connection,
                       .came_from = {}});
  ++totals_.granted;
  ++key.acquired;
  return token;
}

DenialReason ReferenceModel::WhyNot(const ModelKey& key, const Mode& mode) const {
  if (key.limit_override == 0U) return DenialReason::kDrained;
  if (key.HasRoomFor(mode)) return DenialReason::kLine;
  if (!key.HasRoom(key.HeldRooms(), mode)) {
    const bool is_held_shared =
        std::ranges::any_of(key.holds, [](const ModelHold& hold) { return hold.mode.is_shared; });
    return is_held_shared != mode.is_shared ? DenialReason::kShared : DenialReason::kHeld;
  }
  return key.HasRoom(key.HeldAndReservedRooms(), mode) ? DenialReason::kCooling
                                                       : DenialReason::kReserved;
}

void ReferenceModel::Lock(const Call& call, TimeMs now, Outcome& outcome) {
  const ModelKey& key = At(call);
  if (key.FindHold(call.owner)) return RepeatLock(call, now, outcome);
  if (key.FindPlace(call.owner)) return LockAgainWhileWaiting(call, now, outcome);
  AskAnew(call, now, outcome);
}

void ReferenceModel::AskAnew(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const auto is_its_turn = [&] {
    return !key.IsAnyoneAhead(key.line.size()) && key.HasRoomFor(call.mode());
  };
  if (key.IsEmpty() && CountLocks() >= setting_.engine.locks_max) {
    outcome.status = static_cast<int>(LockStatus::kTooManyLocks);
    return;
  }
  if (is_its_turn()) return GrantAtOnce(call, now, outcome);
  if (call.wait_ms == 0 && call.keep_ms == 0) {
    return Deny(call, WhyNot(key, call.mode()), outcome);
  }
  // Rule 14
  if (call.waiters_max && key.CountStanding() >= *call.waiters_max) {
    if (!call.replaces_newest || key.CountStanding() == 0) {
      return Deny(call, DenialReason::kFull, outcome);
    }
    ReplaceNewest(call, now, outcome);
    if (is_its_turn()) return GrantAtOnce(call, now, outcome);
  }
  JoinLine(call, now, outcome);
}

void ReferenceModel::GrantAtOnce(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  outcome.token = GiveHold(key, PlaceOf(call, now), now);
  outcome.status = static_cast<int>(LockStatus::kGranted);
}

void ReferenceModel::ReplaceNewest(const Call& call, TimeMs now, Outcome& outcome) {
  std::vector<ModelPlace>& line = At(call).line;
  std::size_t newest = line.size() - 1;
  while (line[newest].state == PlaceState::kPassedOver) --newest;
  if (line[newest].state == PlaceState::kWaiting) {
    outcome.answers.push_back(
        {line[newest].connection, call.key, ResolutionKind::kReplaced, 0, call.owner});
  }
  RemoveAt(line, newest);
  LookAgain(call.key, now, outcome);
}

// Rule 1: by an owner that holds it.
void ReferenceModel::RepeatLock(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  ModelHold& hold = key.holds[*key.FindHold(call.owner)];
  if (call.only_new) return Deny(call, DenialReason::kHeld, outcome);
  const Mode asked = call.mode();
  const bool differs = (hold.mode.is_shared && !asked.is_shared) ||
                       (hold.mode.limit > 1 && (asked.is_shared || asked.limit < hold.mode.limit));
  if (differs) {
    outcome.status = static_cast<int>(LockStatus::kModeDiffers);
    return;
  }
  ProlongByRepeat(call, hold, now);
  if (call.meta != kAbsent) hold.meta = call.meta;
  if (call.label != kAbsent) hold.label = call.label;
  hold.client = call.connection;
  outcome.status = static_cast<int>(LockStatus::kAlready);
  outcome.token = hold.token;
}

// Rules 1 and 9.
void ReferenceModel::ProlongByRepeat(const Call& call, ModelHold& hold, TimeMs now) {
  const DurationMs asked_ms = call.LeaseAsked(default_lease_ms_);
  const TimeMs asked_end = LeaseEnd(now, asked_ms);
  const bool had_only_session = hold.session_grace_ms && hold.lease_end == engine::kNever;
  hold.grace_end = engine::kNever;
  if (call.session_grace_ms) {
    hold.session_connection = call.connection;
    hold.bound = next_binding_++;
    hold.lease_end = std::max(hold.lease_end, asked_end);
  } else {
    hold.session_connection = kAbsent;
    hold.lease_end = had_only_session ? asked_end : std::max(hold.lease_end, asked_end);
  }
  hold.session_grace_ms = call.session_grace_ms;
  hold.lease_ms = hold.lease_end == engine::kNever ? 0 : std::max(hold.lease_ms, asked_ms);
}

// Rule 5: by an owner that stands in line, or comes back to its place.
void ReferenceModel::LockAgainWhileWaiting(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call);
  const std::size_t index = *key.FindPlace(call.owner);
  const ModelPlace earlier = key.line[index];
  key.line[index].is_reserved = false;
  const bool is_its_turn = !key.IsAnyoneAhead(index) && key.HasRoomFor(call.mode());
  const DenialReason reason = WhyNot(key, call.mode());
  if (!is_its_turn && call.wait_ms == 0 && call.keep_ms == 0) {
    key.line[index] = earlier;
    return Deny(call, reason, outcome);
  }
  if (earlier.state == PlaceState::kWaiting) {
    outcome.answers.push_back({earlier.connection, call.key, ResolutionKind::kSuperseded, 0});
  }
  ModelPlace place = PlaceOf(call, now);
  place.arrival = earlier.arrival;
  place.since = earlier.since;
  if (is_its_turn) {
    RemoveAt(key.line, index);
    outcome.token = GiveHold(key, place, now);
    key.holds.back().came_from = place;
    outcome.status = static_cast<int>(LockStatus::kGranted);
    ++totals_.granted_after_wait;
    ++key.granted_after_wait;
  } else {
    key.line[index] = place;
    outcome.status = static_cast<int>(call.wait_ms > 0 ? LockStatus::kQueued : LockStatus::kKept);
    outcome.reason = static_cast<int>(reason);
  }
  LookAgain(call.key, now, outcome);
}

void ReferenceModel::JoinLine(const Call& call, TimeMs now, Outcome& outcome) {
  if (CountWaiting() >= setting_.engine.places_max) {
    outcome.status = static_cast<int>(LockStatus::kTooManyPlaces);
    return;
  }
  ModelKey& key = At(call);
  outcome.reason = static_cast<int>(WhyNot(key, call.mode()));
  outcome.status = static_cast<int>(call.wait_ms > 0 ? LockStatus::kQueued : LockStatus::kKept);
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
