// The reference model: the Redis way of locking. The value is the owner.

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

using engine::DenialReason;
using engine::EventKind;
using engine::ExpiryStatus;
using engine::ResolutionKind;
using engine::WriteStatus;
using engine::WrittenEnd;

void ReferenceModel::ApplyRedis(const Call& call, TimeMs now, Outcome& outcome) {
  switch (call.operation) {
    case Operation::kSet:
      return Set(call, now, outcome);
    case Operation::kMsetNx:
      return SetAllNew(call, now, outcome);
    case Operation::kDel:
      if (MayNotEnd(call.key)) TellRefused(call.key, kAbsent);
      outcome.number = ReleaseKey(call.key, now, outcome);
      return;
    case Operation::kExpire:
      if (MayNotEnd(call.key)) TellRefused(call.key, kAbsent);
      outcome.number = static_cast<std::int64_t>(Expire(call, now, outcome));
      return;
    case Operation::kFlush:
      return Flush(call, now, outcome);
    default:
      return LookAsRedis(call, now, outcome);
  }
}

namespace {

int RefusalOfWrite(engine::LockStatus status) {
  return static_cast<int>(status == engine::LockStatus::kOutOfMemory
                              ? WriteStatus::kOutOfMemory
                              : WriteStatus::kTooManyOfClient);
}

}  // namespace

// Redis clients cannot end holds taken by LOCK, unless the configuration allows it.
bool ReferenceModel::MayEnd(const ModelKey& key) const {
  return setting_.engine.ends_native_leases || key.holds.front().is_redis_way;
}

// Rule 18: no write gives another end to a hold that leaves.
bool ReferenceModel::IsAnyLeaving(const ModelKey& key) {
  return std::ranges::any_of(key.holds, &ModelHold::is_leaving);
}

bool ReferenceModel::MayNotEnd(int key) const { return !At(key).holds.empty() && !MayEnd(At(key)); }

void ReferenceModel::Set(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call.key);
  const bool is_own = key.holds.size() == 1 && key.holds.front().owner == call.owner;
  if (call.only_new || (key.holds.empty() && !call.only_held)) {
    SetNew(call, now, outcome);
  } else if (key.holds.empty()) {
    outcome.status = static_cast<int>(WriteStatus::kNotHeld);
  } else if (!is_own && !MayEnd(key)) {
    outcome.status = static_cast<int>(WriteStatus::kNative);
    TellRefused(call.key, call.owner);
  } else if (call.written_end != WrittenEnd::kKept && IsAnyLeaving(key)) {
    outcome.status = static_cast<int>(WriteStatus::kLeaving);
    TellRefused(call.key, call.owner);
  } else if (is_own) {
    outcome.status = static_cast<int>(WriteStatus::kRenewed);
    outcome.token = key.holds.front().token;
    ConfirmAll(outcome.token);
    RenewBySet(call, key.holds.front(), now);
  } else {
    TakeOver(call, now, outcome);
  }
  if (outcome.token != 0 && call.is_over()) ExpireNow(call.key, outcome.token, now, outcome);
}

// Within a session's grace, a new lease cannot prolong the hold.
void ReferenceModel::SetLease(ModelHold& hold, DurationMs lease_ms, TimeMs now) {
  if (hold.session_grace_ms && hold.session_connection == kAbsent) hold.grace_end = hold.end();
  hold.lease_ms = lease_ms;
  hold.lease_end = LeaseEnd(now, lease_ms);
}

// Sets the lease exactly as requested, even if that shortens it.
void ReferenceModel::RenewBySet(const Call& call, ModelHold& hold, TimeMs now) {
  if (call.is_over() || call.written_end == WrittenEnd::kKept) return;
  SetLease(hold, call.WrittenLease(), now);
  Tell(EventKind::kRenewed, call.key, hold);
}

void ReferenceModel::ExpireNow(int key_index, Token token, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(key_index);
  const ModelHold hold = key.holds[*key.FindToken(token)];
  RemoveAt(key.holds, *key.FindToken(token));
  ++totals_.expired;
  ++key.expired;
  Tell(EventKind::kExpired, key_index, hold);
  TellLoss(key_index, hold, EventKind::kExpired, outcome);
  Cool(key, hold, now);
  LookAgain(key_index, now, outcome);
}

void ReferenceModel::DenySet(const Call& call, int key, DenialReason reason, Outcome& outcome) {
  outcome.status = static_cast<int>(WriteStatus::kDenied);
  outcome.reason = static_cast<int>(reason);
  if (call.operation == Operation::kMsetNx) return;
  ++totals_.denied;
  ++At(key).denied;
  TellDenied(key, call.owner, reason);
}

ModelPlace ReferenceModel::PlaceOfValue(const Call& call, int key, TimeMs now) const {
  ModelPlace place;
  place.owner = call.owner;
  place.keys = {key};
  place.asked_key = key;
  place.arrival = next_arrival_;
  place.state = PlaceState::kKept;
  place.since = now;
  place.lease_ms = call.WrittenLease();
  place.connection = call.connection;
  place.is_redis_way = true;
  return place;
}

// SET NX is denied while the key is held, in cooldown, reserved for another owner, or awaited by
// another. If the key is reserved for this value, the value is granted the lock.
std::optional<DenialReason> ReferenceModel::WhyNotNew(int key_index, int owner) {
  ModelKey& key = At(key_index);
  if (key.FindHold(owner)) return DenialReason::kHeld;
  const auto index = key.FindPlace(owner);
  if (!index) {
    if (!key.IsAnyoneAhead(key.line.size()) && key.HasRoomFor({})) return std::nullopt;
    return WhyNot(key, {});
  }
  const ModelPlace place = key.line[*index];
  if (place.is_mlock || place.state == PlaceState::kWaiting) return WhyNot(key, {});
  SetReserved(place, false);
  const bool is_blocked = IsBlockedOn(key_index, place, {});
  const DenialReason reason = WhyNot(key, {});
  SetReserved(place, place.is_reserved);
  if (!is_blocked) return std::nullopt;
  return reason;
}

void ReferenceModel::SetNew(const Call& call, TimeMs now, Outcome& outcome) {
  const std::uint64_t missing = At(call.key).IsEmpty() ? 1 : 0;
  if (missing > 0 && CountLocks() + missing > setting_.engine.locks_max) {
    outcome.status = static_cast<int>(WriteStatus::kTooManyLocks);
  } else if (missing > 0 && TakesNothingNew()) {
    outcome.status = static_cast<int>(WriteStatus::kOutOfMemory);
  } else if (const auto reason = WhyNotNew(call.key, call.owner)) {
    DenySet(call, call.key, *reason, outcome);
    if (call.only_new && TakePlaceByValue(call, *reason, now, outcome)) return;
    const auto index = At(call.key).FindPlace(call.owner);
    if (!index || At(call.key).line[*index].is_mlock) return;
    const ModelPlace earlier = At(call.key).line[*index];
    SetReserved(earlier, false);
    KeepOrGiveWay(earlier, call.key, now, outcome);
  } else if (const auto refusal = WhyNotMore(call.connection, 1);
             refusal && !At(call.key).FindPlace(call.owner)) {
    outcome.status = RefusalOfWrite(*refusal);
  } else {
    outcome.status = static_cast<int>(WriteStatus::kGranted);
    outcome.token = GiveToValue(call, call.key, now, outcome);
  }
}

// A place is dated from the first denial, and counts from the second one on; each further request
// prolongs it. Places made by LOCK stay unchanged.
bool ReferenceModel::TakePlaceByValue(const Call& call, DenialReason reason, TimeMs now,
                                      Outcome& outcome) {
  const DurationMs keep_ms = setting_.KeepOf(call.key);
  ModelKey& key = At(call.key);
  if (keep_ms == 0 || key.FindHold(call.owner)) return false;
  ModelPlace place = PlaceOfValue(call, call.key, now);
  place.keep_ms = keep_ms;
  place.end = After(now, keep_ms);
  const auto index = key.FindPlace(call.owner);
  if (!index) {
    const bool is_half_full = CountWaiting() >= setting_.engine.places_max / 2 ||
                              CountInLine(call.key) >= setting_.engine.places_per_key_max / 2;
    if (is_half_full || WhyNotMore(call.connection, 1)) return false;
    place.state = PlaceState::kPassedOver;
    place.is_mark = true;
    AddPlace(call.key, place);
    ++next_arrival_;
    return false;
  }
  const ModelPlace& earlier = key.line[*index];
  if (!earlier.is_redis_way) return false;
  place.arrival = earlier.arrival;
  place.since = earlier.since;
  if (earlier.is_mark) TellQueued(place, reason);
  ChangePlace(place);
  LookAgain(call.key, now, outcome);
  return true;
}

Token ReferenceModel::GiveToValue(const Call& call, int key, TimeMs now, Outcome& outcome) {
  ModelPlace place = PlaceOfValue(call, key, now);
  const auto index = At(key).FindPlace(call.owner);
  if (!index) return GiveHolds(place, false, now);
  const ModelPlace earlier = At(key).line[*index];
  place.arrival = earlier.arrival;
  place.since = earlier.since;
  if (call.only_new && earlier.is_redis_way) place.keep_ms = setting_.KeepOf(key);
  RemovePlace(earlier);
  const Token token = GiveHolds(place, true, now);
  LookAgain(key, now, outcome);
  return token;
}

// Sets all keys or none.
void ReferenceModel::SetAllNew(const Call& call, TimeMs now, Outcome& outcome) {
  std::uint64_t missing = 0;
  for (int key : call.keys) {
    if (WhyNotNew(key, call.owner)) {
      outcome.status = static_cast<int>(WriteStatus::kDenied);
      return;
    }
    if (At(key).IsEmpty()) ++missing;
  }
  if (CountLocks() + missing > setting_.engine.locks_max) {
    outcome.status = static_cast<int>(WriteStatus::kTooManyLocks);
    return;
  }
  if (const auto refusal = WhyNotMore(call.connection, call.keys.size())) {
    outcome.status = RefusalOfWrite(*refusal);
    return;
  }
  outcome.status = static_cast<int>(WriteStatus::kGranted);
  for (int key : call.keys) outcome.token = GiveToValue(call, key, now, outcome);
}

// Existing holds end, and the value gets a new token; if the only hold is renamed (INCR),
// everything else stays the same.
void ReferenceModel::TakeOver(const Call& call, TimeMs now, Outcome& outcome) {
  if (TakesNothingNew()) {
    outcome.status = static_cast<int>(WriteStatus::kOutOfMemory);
    return;
  }
  ModelKey& key = At(call.key);
  const std::vector<ModelHold> old = key.holds;
  const bool is_rename = call.is_rename && old.size() == 1;
  ModelHold hold =
      *std::ranges::find_if(old, [&](const ModelHold& one) { return one.owner != call.owner; });
  ConfirmAll(hold.token);
  totals_.broken += old.size() - 1;
  for (const ModelHold& one : old) {
    if (one.token == hold.token) continue;
    Tell(EventKind::kBroken, call.key, one);
    TellLoss(call.key, one, EventKind::kBroken, outcome);
  }
  const int old_owner = hold.owner;
  const Token old_token = hold.token;
  TellLoss(call.key, hold, EventKind::kTransferred, outcome);
  key.holds.clear();
  const bool is_redis_way = !call.is_rename || old.front().is_redis_way;
  InheritLease(call, old, hold, now);
  hold.owner = call.owner;
  hold.keys = {call.key};
  hold.is_mlock = false;
  hold.rank = 0;
  hold.since = now;
  hold.session_grace_ms.reset();
  hold.session_connection = kAbsent;
  hold.came_from.reset();
  hold.is_confirmed = true;
  hold.client = call.connection;
  hold.channel = kAbsent;
  hold.is_redis_way = is_redis_way;
  if (!is_rename) {
    hold.mode = {};
    hold.cool_until = 0;
    hold.meta = kAbsent;
    MakeRoomForOne(call.key);
  }
  hold.token = next_token_++;
  ++totals_.granted;
  ++key.acquired;
  GivePlaceUpFor(call, hold, outcome);
  key.holds.push_back(hold);
  Tell(EventKind::kTransferred, call.key, hold, old_owner);
  if (hold.is_leaving) TellLeaving(call.key, hold, old_token);
  outcome.status = static_cast<int>(WriteStatus::kTakenOver);
  outcome.token = hold.token;
  LookAgain(call.key, now, outcome);
}

// KEEPTTL keeps the lease that TTL showed, i.e. the longest one.
void ReferenceModel::InheritLease(const Call& call, const std::vector<ModelHold>& old,
                                  ModelHold& hold, TimeMs now) {
  if (call.written_end != WrittenEnd::kKept) {
    hold.lease_ms = call.WrittenLease();
    hold.lease_end = LeaseEnd(now, hold.lease_ms);
  } else {
    const ModelHold before = hold;
    const ModelHold& longest = *std::ranges::max_element(old, {}, &ModelHold::end);
    const TimeMs end = longest.end();
    hold.lease_ms = end == engine::kNever ? 0 : longest.lease_ms;
    if (end != engine::kNever && hold.lease_ms == 0) {
      hold.lease_ms = std::max<DurationMs>(end - now, 1);
    }
    hold.lease_end = end;
    if (hold.is_leaving) KeepEnd(before, hold);
  }
  hold.grace_end = engine::kNever;
}

void ReferenceModel::MakeRoomForOne(int key_index) {
  ModelKey& key = At(key_index);
  key.cooling.clear();
  const std::vector<ModelPlace> line = key.line;
  for (const ModelPlace& place : line) {
    if (!place.is_reserved) continue;
    SetReserved(place, false);
    NoteOthers(place.keys, key_index);
  }
}

// The value's own place ends. If a LOCK is waiting there, it is answered with the token, and the
// hold counts as taken by LOCK. The place of an MLOCK just ends, because an MLOCK never holds only
// some of its keys.
void ReferenceModel::GivePlaceUpFor(const Call& call, ModelHold& hold, Outcome& outcome) {
  const auto index = At(call.key).FindPlace(call.owner);
  if (!index) return;
  const ModelPlace place = At(call.key).line[*index];
  if (place.is_mlock) {
    EndPlaceOf(call.key, call.owner, outcome);
    return;
  }
  RemovePlace(place);
  if (place.meta != kAbsent) hold.meta = place.meta;
  if (place.label != kAbsent) hold.label = place.label;
  hold.channel = place.channel;
  if (place.state != PlaceState::kWaiting) return;
  hold.client = place.connection;
  hold.is_redis_way = false;
  outcome.answers.push_back(AnswerTo(place, ResolutionKind::kGranted, hold.token));
}

bool ReferenceModel::ReleaseKey(int key_index, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(key_index);
  if (key.holds.empty() || !MayEnd(key)) return false;
  const std::vector<ModelHold> ended = key.holds;
  key.holds.clear();
  totals_.released += ended.size();
  for (const ModelHold& hold : ended) {
    Tell(EventKind::kReleased, key_index, hold);
    // The owner did not release the hold itself, so the loss is announced.
    TellLoss(key_index, hold, EventKind::kReleased, outcome);
    Cool(key, hold, now);
  }
  LookAgain(key_index, now, outcome);
  return true;
}

engine::ExpiryStatus ReferenceModel::Expire(const Call& call, TimeMs now, Outcome& outcome) {
  ModelKey& key = At(call.key);
  if (key.holds.empty() || !MayEnd(key)) return ExpiryStatus::kUnchanged;
  TimeMs end = 0;
  for (const ModelHold& hold : key.holds) end = std::max(end, hold.end());
  if (!MayExpire(call, end, now)) return ExpiryStatus::kUnchanged;
  if (call.lease_ms && *call.lease_ms <= 0) {
    ReleaseKey(call.key, now, outcome);
    return ExpiryStatus::kChanged;
  }
  if (IsAnyLeaving(key)) {
    TellRefused(call.key, kAbsent);
    return ExpiryStatus::kLeaving;
  }
  for (ModelHold& hold : key.holds) {
    SetLease(hold, call.lease_ms.value_or(0), now);
    Tell(EventKind::kRenewed, call.key, hold);
  }
  return ExpiryStatus::kChanged;
}

// Holds taken the Redis way end, and places made by SET NX are removed; then queues are examined.
void ReferenceModel::Flush(const Call& call, TimeMs now, Outcome& outcome) {
  const bool is_own_step = !is_in_step_;
  if (is_own_step) BeginStep(now);
  for (int index : call.keys) {
    ModelKey& key = At(index);
    if (MayNotEnd(index)) TellRefused(index, kAbsent);
    ReleaseKey(index, now, outcome);
    if (setting_.engine.ends_native_leases) key.cooling.clear();
    const std::vector<ModelPlace> line = key.line;
    for (const ModelPlace& place : line) {
      if (!place.is_redis_way) continue;
      TellPlace(EventKind::kCancelled, place);
      RemovePlace(place);
    }
    LookAgain(index, now, outcome);
  }
  if (is_own_step) EndStep(now, outcome);
}

void ReferenceModel::LookAsRedis(const Call& call, TimeMs now, Outcome& outcome) const {
  const RedisSight sight = SeeAsRedis(call.key, now);
  outcome.status = sight.owner;
  outcome.number = sight.bits;
  outcome.extra = sight.ttl_ms;
}

RedisSight ReferenceModel::SeeAsRedis(int key_index, TimeMs now) const {
  const ModelKey& key = At(key_index);
  RedisSight sight;
  const ModelPlace* first = key.FirstStanding();
  const bool is_mlock_next = first != nullptr && first->is_mlock;
  const bool is_held = !key.holds.empty();
  if (!is_held && key.CountReserved() == 0 && key.cooling.empty() && !is_mlock_next) return sight;
  sight.bits = RedisSight::kExists;
  TimeMs end = 0;
  for (const ModelHold& hold : key.holds) end = std::max(end, hold.end());
  if (!is_held) {
    for (const ModelCooling& room : key.cooling) end = std::max(end, room.end);
    for (const ModelPlace& place : key.line) {
      if (place.is_reserved) end = std::max(end, place.end);
    }
  }
  if (end > 0 && end < engine::kNever) sight.ttl_ms = std::max<DurationMs>(end - now, 0);
  if (!is_held) return sight;
  sight.bits |= RedisSight::kHeld;
  sight.owner = key.holds.front().owner;
  if (key.holds.front().is_redis_way) sight.bits |= RedisSight::kRedisWay;
  const bool is_semaphore = std::ranges::any_of(
      key.holds, [](const ModelHold& hold) { return hold.mode.is_shared || hold.mode.limit > 1; });
  if (is_semaphore) sight.bits |= RedisSight::kSemaphore;
  return sight;
}

}  // namespace fairlock::simulation
