// The reference model: places and holds; those of an MLOCK change on all its keys at once (rule
// 12).

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

using engine::DenialReason;

ModelPlace ReferenceModel::PlaceOf(const Call& call, TimeMs now) const {
  const bool is_waiting = call.wait_ms > 0;
  return {.owner = call.owner,
          .keys = call.named(),
          .is_mlock = call.is_mlock(),
          .asked_key = call.key,
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
          .connection = call.connection,
          .waits_on = call.waits_on(),
          .channel = call.channel,
          .wait_end = call.channel == kAbsent ? engine::kNever : After(now, call.wait_ms)};
}

void ReferenceModel::AddPlace(int key, const ModelPlace& place) {
  if (At(key).line.empty()) At(key).line_number = next_line_++;
  At(key).Insert(place);
}

void ReferenceModel::RemovePlace(const ModelPlace& place) {
  // These are copies, because the place that is removed may be `place` itself.
  const Keys keys = place.keys;
  const int owner = place.owner;
  for (int key : keys) {
    RemoveAt(At(key).line, *At(key).FindPlace(owner));
    if (At(key).line.empty()) At(key).is_unseen = false;
  }
}

void ReferenceModel::ChangePlace(const ModelPlace& place) {
  const ModelPlace changed = place;
  for (int key : changed.keys) At(key).PlaceOf(changed.owner) = changed;
}

void ReferenceModel::MakeAbsent(const ModelPlace& place, PlaceState state, TimeMs now) {
  const bool is_kept = state == PlaceState::kKept;
  const TimeMs end = After(now, is_kept ? place.keep_ms : reconnect_grace_ms_);
  const int owner = place.owner;
  for (int key : Keys(place.keys)) {
    At(key).PlaceOf(owner).state = state;
    At(key).PlaceOf(owner).end = end;
  }
}

bool ReferenceModel::LoseRequest(const ModelPlace& place, TimeMs now) {
  const bool is_kept = place.keep_ms > 0;
  if (!is_kept) NoteOthers(place.keys, place.keys.front());
  if (!is_kept && reconnect_grace_ms_ == 0) {
    TellPlace(engine::EventKind::kLapsed, place);
    return false;
  }
  MakeAbsent(place, is_kept ? PlaceState::kKept : PlaceState::kPassedOver, now);
  return true;
}

bool ReferenceModel::IsBlockedOn(int key, const ModelPlace& place, const Mode& mode) const {
  if (is_settling_ && place.is_mlock && IsDeferred(key)) return true;
  return At(key).IsAnyoneAhead(*At(key).FindPlace(place.owner)) || !At(key).HasRoomFor(mode);
}

std::optional<int> ReferenceModel::FindBlocked(const ModelPlace& place, const Mode& mode) const {
  const auto found =
      std::ranges::find_if(place.keys, [&](int key) { return IsBlockedOn(key, place, mode); });
  if (found == place.keys.end()) return std::nullopt;
  return *found;
}

// Rule 5: an owner that asked in vain keeps its reservation, unless a place ahead on the blocked
// key needs a slot: then that one is next.
void ReferenceModel::KeepOrGiveWay(const ModelPlace& earlier, int blocked, TimeMs now,
                                   Outcome& outcome) {
  if (!earlier.is_reserved) return;
  const ModelKey& key = At(blocked);
  if (!key.IsAnyoneAhead(*key.FindPlace(earlier.owner))) return SetReserved(earlier, true);
  const Keys keys = earlier.keys;
  NoteOthers(keys, keys.front());
  LookAgain(keys.front(), now, outcome);
}

void ReferenceModel::SetReserved(const ModelPlace& place, bool is_reserved) {
  for (int key : place.keys) At(key).PlaceOf(place.owner).is_reserved = is_reserved;
}

Token ReferenceModel::GiveHolds(const ModelPlace& place, bool was_in_line, TimeMs now) {
  const Token token = next_token_++;
  for (std::size_t rank = 0; rank < place.keys.size(); ++rank) {
    ModelKey& key = At(place.keys[rank]);
    key.holds.push_back({.owner = place.owner,
                         .keys = place.keys,
                         .is_mlock = place.is_mlock,
                         .rank = rank,
                         .token = token,
                         .mode = place.mode,
                         .since = now,
                         .lease_end = LeaseEnd(now, place.lease_ms),
                         .lease_ms = place.lease_ms,
                         .session_grace_ms = place.session_grace_ms,
                         .session_connection = place.session_grace_ms ? place.waits_on : kAbsent,
                         .bound = next_binding_++,
                         .cool_until = place.min_hold_ms > 0 ? After(now, place.min_hold_ms) : 0,
                         .meta = place.meta,
                         .label = place.label,
                         .client = place.connection,
                         .channel = place.channel,
                         .came_from = {},
                         .is_redis_way = place.is_redis_way});
    ++totals_.granted;
    ++key.acquired;
    Tell(engine::EventKind::kGranted, place.keys[rank], key.holds.back());
    if (!was_in_line) continue;
    told_.back().waited_ms = now - place.since;
    key.holds.back().came_from = place;
    ++totals_.granted_after_wait;
    ++key.granted_after_wait;
  }
  return token;
}

// The displayed fields may differ from key to key if the place was a hold before.
Token ReferenceModel::GrantPlace(const ModelPlace& place, TimeMs now) {
  std::vector<ModelPlace> parts;
  for (int key : place.keys) parts.push_back(At(key).PlaceOf(place.owner));
  RemovePlace(place);
  const Token token = GiveHolds(place, true, now);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ModelHold& hold = At(place.keys[i]).holds.back();
    hold.meta = parts[i].meta;
    hold.label = parts[i].label;
    hold.client = parts[i].connection;
    hold.came_from = parts[i];
  }
  return token;
}

void ReferenceModel::ConfirmAll(Token token) {
  for (ModelKey& key : keys_) {
    if (const auto index = key.FindToken(token)) key.holds[*index].is_confirmed = true;
  }
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

}  // namespace fairlock::simulation
