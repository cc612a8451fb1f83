// The reference model: LOCK and MLOCK (rules 1 to 5, 7 to 12 and 14).

#include <algorithm>

#include "tests/simulation/lists.h"
#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

using engine::DenialReason;
using engine::EventKind;
using engine::LockStatus;
using engine::ResolutionKind;

namespace {

bool IsSameSet(std::vector<int> a, std::vector<int> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

std::size_t IndexIn(const std::vector<int>& keys, int key) {
  return static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
}

}  // namespace

void ReferenceModel::Lock(const Call& call, TimeMs now, Outcome& outcome) {
  const ModelKey& key = At(call.key);
  if (key.FindHold(call.owner)) return RepeatLock(call, now, outcome);
  if (const auto index = key.FindPlace(call.owner)) {
    if (!key.line[*index].is_mlock) return LockAgainWhileWaiting(call, now, outcome);
    outcome.status = static_cast<int>(LockStatus::kWaitsByMlock);
    return;
  }
  AskAnew(call, now, outcome);
}

void ReferenceModel::Mlock(const Call& call, TimeMs now, Outcome& outcome) {
  // A mark is not yet a place, so it does not get in the way of an MLOCK.
  for (int key : call.keys) {
    const auto mark = At(key).FindPlace(call.owner);
    if (mark && At(key).line[*mark].is_mark) RemovePlace(At(key).line[*mark]);
  }
  if (const auto other = FindOtherStake(call)) {
    outcome.status = static_cast<int>(LockStatus::kStakedOtherwise);
    outcome.number = static_cast<std::int64_t>(*other);
    return;
  }
  if (At(call.key).FindPlace(call.owner)) return LockAgainWhileWaiting(call, now, outcome);
  const auto is_held = [&](int key) { return At(key).FindHold(call.owner).has_value(); };
  if (std::ranges::all_of(call.keys, is_held)) return RepeatLock(call, now, outcome);
  // If the owner holds only some of the keys, those are first released, as by UNLOCK.
  std::vector<int> in_order;
  for (int key : call.keys) {
    if (is_held(key)) in_order = At(key).holds[*At(key).FindHold(call.owner)].keys;
  }
  for (int key : in_order) {
    if (const auto index = At(key).FindHold(call.owner)) Release(key, *index, now, outcome);
  }
  AskAnew(call, now, outcome);
}

// The first key on which the owner has a hold or place that does not come from an MLOCK of exactly
// these keys.
std::optional<std::size_t> ReferenceModel::FindOtherStake(const Call& call) const {
  for (std::size_t i = 0; i < call.keys.size(); ++i) {
    const ModelKey& key = At(call.keys[i]);
    if (const auto index = key.FindHold(call.owner)) {
      const ModelHold& hold = key.holds[*index];
      if (!hold.is_mlock || !IsSameSet(hold.keys, call.keys)) return i;
    }
    if (const auto index = key.FindPlace(call.owner)) {
      const ModelPlace& place = key.line[*index];
      if (!place.is_mlock || !IsSameSet(place.keys, call.keys)) return i;
    }
  }
  return std::nullopt;
}

// Rule 2: the first key on which a new request cannot be granted.
std::optional<std::size_t> ReferenceModel::FindBlockedKey(const Call& call) const {
  const std::vector<int> keys = call.named();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ModelKey& key = At(keys[i]);
    if (key.IsAnyoneAhead(key.line.size()) || !key.HasRoomFor(call.mode())) return i;
  }
  return std::nullopt;
}

// Rule 14: the first full queue where REPLACE is not given, or where there is no place that it can
// end.
std::optional<std::size_t> ReferenceModel::FindRefusingLine(const Call& call) const {
  const std::vector<int> keys = call.named();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ModelKey& key = At(keys[i]);
    const std::size_t standing = key.CountStanding();
    const bool is_free = !key.IsAnyoneAhead(key.line.size()) && key.HasRoomFor(call.mode());
    if ((standing == 0 && is_free) || standing < *call.waiters_max) continue;
    if (!call.replaces_newest || standing == 0) return i;
  }
  return std::nullopt;
}

void ReferenceModel::AskAnew(const Call& call, TimeMs now, Outcome& outcome) {
  const std::vector<int> keys = call.named();
  const auto missing = static_cast<std::uint64_t>(
      std::ranges::count_if(keys, [&](int key) { return At(key).IsEmpty(); }));
  if (missing > 0 && CountLocks() + missing > setting_.engine.locks_max) {
    outcome.status = static_cast<int>(LockStatus::kTooManyLocks);
    return;
  }
  if (missing > 0 && TakesNothingNew()) {
    outcome.status = static_cast<int>(LockStatus::kOutOfMemory);
    return;
  }
  auto blocked = FindBlockedKey(call);
  if (blocked && call.wait_ms == 0 && call.keep_ms == 0) {
    return Deny(call, *blocked, WhyNot(At(keys[*blocked]), call.mode()), outcome);
  }
  if (blocked && call.waiters_max) {
    if (const auto full = FindRefusingLine(call)) {
      return Deny(call, *full, DenialReason::kFull, outcome);
    }
  }
  if (const auto refusal = WhyNotMore(call.connection, keys.size())) {
    outcome.status = static_cast<int>(*refusal);
    return;
  }
  const auto is_deadlock = [&](const std::vector<ModelPlace>& leaving) {
    return blocked && call.wait_ms > 0 && IsDeadlock(call, leaving, now);
  };
  if (is_deadlock(PlacesToReplace(call))) return RefuseDeadlock(call, *blocked, outcome);
  if (blocked && call.waiters_max) {
    for (int key : keys) {
      const std::size_t standing = At(key).CountStanding();
      if (standing > 0 && standing >= *call.waiters_max) ReplaceNewest(key, call, now, outcome);
    }
    blocked = FindBlockedKey(call);
    if (is_deadlock({})) return RefuseDeadlock(call, *blocked, outcome);
  }
  if (blocked) return JoinLine(call, *blocked, now, outcome);
  outcome.token = GiveHolds(PlaceOf(call, now), false, now);
  outcome.status = static_cast<int>(LockStatus::kGranted);
}

void ReferenceModel::ReplaceNewest(int key, const Call& call, TimeMs now, Outcome& outcome) {
  const std::vector<ModelPlace>& line = At(key).line;
  std::size_t newest = line.size() - 1;
  while (line[newest].state == PlaceState::kPassedOver) --newest;
  const ModelPlace place = line[newest];
  if (place.state == PlaceState::kWaiting) {
    outcome.answers.push_back(AnswerTo(place, ResolutionKind::kReplaced, 0, call.owner));
  }
  TellPlace(EventKind::kReplaced, place, call.owner);
  RemovePlace(place);
  NoteOthers(place.keys, key);
  LookAgain(key, now, outcome);
}

// Rule 1: an owner that already holds the key, or all of the keys, repeats its request.
void ReferenceModel::RepeatLock(const Call& call, TimeMs now, Outcome& outcome) {
  if (call.only_new) return Deny(call, 0, DenialReason::kHeld, outcome);
  const std::vector<int> named = call.named();
  for (std::size_t i = 0; i < named.size(); ++i) {
    const ModelKey& key = At(named[i]);
    if (key.holds[*key.FindHold(call.owner)].is_leaving) {
      return Deny(call, i, DenialReason::kLeaving, outcome);
    }
  }
  const ModelHold& first = At(call.key).holds[*At(call.key).FindHold(call.owner)];
  const Mode asked = call.mode();
  const bool differs =
      (first.mode.is_shared && !asked.is_shared) ||
      (first.mode.limit > 1 && (asked.is_shared || asked.limit < first.mode.limit));
  if (differs) {
    outcome.status = static_cast<int>(LockStatus::kModeDiffers);
    return;
  }
  const std::vector<int> held = call.is_mlock() ? first.keys : std::vector<int>{call.key};
  const auto brings_more = [&](int key) {
    return BringsMore(call, At(key).holds[*At(key).FindHold(call.owner)]);
  };
  if (std::ranges::any_of(held, brings_more)) {
    outcome.status = static_cast<int>(LockStatus::kOutOfMemory);
    return;
  }
  for (int key : held) {
    ModelHold& hold = At(key).holds[*At(key).FindHold(call.owner)];
    ProlongByRepeat(call, hold, now);
    if (call.meta != kAbsent) hold.meta = call.meta;
    if (call.label != kAbsent) hold.label = call.label;
    if (call.channel != kAbsent) hold.channel = call.channel;
    hold.client = call.connection;
    hold.is_redis_way = false;
    Tell(EventKind::kReacquired, key, hold);
  }
  outcome.status = static_cast<int>(LockStatus::kAlready);
  outcome.token = first.token;
}

// Rules 1 and 9: a repetition can prolong a lease, but not shorten it. With SESSION, it binds the
// session; without, a session moves only if its connection has closed or its channel is replaced.
void ReferenceModel::ProlongByRepeat(const Call& call, ModelHold& hold, TimeMs now) {
  const DurationMs asked_ms = call.LeaseAsked(default_lease_ms_);
  const TimeMs asked_end = LeaseEnd(now, asked_ms);
  const bool moves = hold.session_connection == kAbsent ||
                     (call.channel != kAbsent && IsChannel(hold.session_connection));
  hold.grace_end = engine::kNever;
  if (call.session_grace_ms) {
    hold.session_connection = call.waits_on();
    hold.bound = next_binding_++;
    hold.session_grace_ms = call.session_grace_ms;
  } else if (hold.session_grace_ms && moves) {
    hold.session_connection = call.waits_on();
    hold.bound = next_binding_++;
  }
  hold.lease_end = std::max(hold.lease_end, asked_end);
  hold.lease_ms = hold.lease_end == engine::kNever ? 0 : std::max(hold.lease_ms, asked_ms);
}

// Rule 5: an owner that is in the queue, or returns to its place, repeats its request.
void ReferenceModel::LockAgainWhileWaiting(const Call& call, TimeMs now, Outcome& outcome) {
  const ModelPlace earlier = At(call.key).PlaceOf(call.owner);
  SetReserved(earlier, false);
  const auto blocked = FindBlocked(earlier, call.mode());
  DenialReason reason = DenialReason::kNone;
  if (blocked) {
    outcome.number = call.is_mlock() ? static_cast<std::int64_t>(IndexIn(call.keys, *blocked)) : 0;
    reason = WhyNot(At(*blocked), call.mode());
  }
  if (blocked && call.wait_ms == 0 && call.keep_ms == 0) {
    Deny(call, IndexIn(call.named(), *blocked), reason, outcome);
    return KeepOrGiveWay(earlier, *blocked, now, outcome);
  }
  if (blocked && call.wait_ms > 0 && IsDeadlock(call, {}, now)) {
    RefuseDeadlock(call, IndexIn(call.named(), *blocked), outcome);
    return KeepOrGiveWay(earlier, *blocked, now, outcome);
  }
  const auto brings_more = [&](int key) { return BringsMore(call, At(key).PlaceOf(call.owner)); };
  if (std::ranges::any_of(earlier.keys, brings_more)) {
    SetReserved(earlier, earlier.is_reserved);
    outcome.status = static_cast<int>(LockStatus::kOutOfMemory);
    outcome.number = 0;
    return;
  }
  // Rule 13: the earlier request gets no answer if the new one waits on the same channel.
  const bool is_same_channel = call.channel != kAbsent && call.channel == earlier.channel;
  if (earlier.state == PlaceState::kWaiting && !is_same_channel) {
    outcome.answers.push_back(AnswerTo(earlier, ResolutionKind::kSuperseded));
  }
  ModelPlace place = PlaceOf(call, now);
  place.keys = earlier.keys;
  place.arrival = earlier.arrival;
  place.since = earlier.since;
  if (!blocked) {
    RemovePlace(earlier);
    outcome.token = GiveHolds(place, true, now);
    outcome.status = static_cast<int>(LockStatus::kGranted);
  } else {
    if (earlier.is_mark) TellQueued(place, reason);
    ChangePlace(place);
    outcome.status = static_cast<int>(call.wait_ms > 0 ? LockStatus::kQueued : LockStatus::kKept);
    outcome.reason = static_cast<int>(reason);
  }
  NoteOthers(place.keys, place.keys.front());
  LookAgain(place.keys.front(), now, outcome);
}

void ReferenceModel::JoinLine(const Call& call, std::size_t blocked, TimeMs now, Outcome& outcome) {
  const std::vector<int> keys = call.named();
  if (CountWaiting() + keys.size() > setting_.engine.places_max) {
    outcome.status = static_cast<int>(LockStatus::kTooManyPlaces);
    return;
  }
  const auto full = std::ranges::find_if(
      keys, [&](int key) { return CountInLine(key) >= setting_.engine.places_per_key_max; });
  if (full != keys.end()) {
    outcome.status = static_cast<int>(LockStatus::kTooManyOnKey);
    outcome.number = full - keys.begin();
    return;
  }
  outcome.reason = static_cast<int>(WhyNot(At(keys[blocked]), call.mode()));
  outcome.status = static_cast<int>(call.wait_ms > 0 ? LockStatus::kQueued : LockStatus::kKept);
  outcome.number = static_cast<std::int64_t>(blocked);
  TellQueued(PlaceOf(call, now), WhyNot(At(keys[blocked]), call.mode()));
  for (int key : keys) AddPlace(key, PlaceOf(call, now));
  ++next_arrival_;
}

// Why the client that sent the last request on that connection may not have `count` more holds or
// places; nullopt if it may.
std::optional<LockStatus> ReferenceModel::WhyNotMore(int connection, std::size_t count) const {
  if (TakesNothingNew()) return LockStatus::kOutOfMemory;
  std::uint64_t present = 0;
  for (const ModelKey& key : keys_) {
    present += static_cast<std::uint64_t>(
        std::ranges::count(key.holds, connection, &ModelHold::client) +
        std::ranges::count(key.line, connection, &ModelPlace::connection));
  }
  if (present + count <= setting_.engine.claims_per_client_max) return std::nullopt;
  return LockStatus::kTooManyOfClient;
}

std::uint64_t ReferenceModel::CountInLine(int key) const {
  return At(key).line.size() + At(key).watchers.size();
}

void ReferenceModel::RefuseDeadlock(const Call& call, std::size_t key, Outcome& outcome) {
  Deny(call, key, DenialReason::kDeadlock, outcome);
  outcome.status = static_cast<int>(LockStatus::kDeadlock);
}

void ReferenceModel::Deny(const Call& call, std::size_t key, DenialReason reason,
                          Outcome& outcome) {
  outcome.status = static_cast<int>(LockStatus::kDenied);
  outcome.reason = static_cast<int>(reason);
  outcome.number = static_cast<std::int64_t>(key);
  ++totals_.denied;
  ++At(call.named()[key]).denied;
  TellDenied(call.named()[key], call.owner, reason);
}

}  // namespace fairlock::simulation
