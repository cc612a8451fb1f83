// The ledger: the Redis way of locking.

#include <algorithm>

#include "tests/simulation/ledger.h"
#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::WriteStatus;
using engine::WrittenEnd;

bool Ledger::IsTakeover() const {
  return call_ != nullptr && call_->operation == Operation::kSet &&
         outcome_->status == static_cast<int>(WriteStatus::kTakenOver);
}

// Whether the only holder has renewed its hold with an end in the past, which ends it.
bool Ledger::IsEndingRenewal() const {
  return call_ != nullptr && call_->operation == Operation::kSet && call_->is_over() &&
         outcome_->status == static_cast<int>(WriteStatus::kRenewed);
}

bool Ledger::IsRelease() const {
  return call_->operation == Operation::kDel || call_->operation == Operation::kFlush ||
         (call_->operation == Operation::kExpire && call_->lease_ms && *call_->lease_ms <= 0);
}

bool Ledger::MayBeEndedByOthers(const Key& key) const {
  return setting_.engine.ends_native_leases ||
         std::ranges::all_of(key.holds, [](const Hold& hold) { return hold.is_redis_way; });
}

bool Ledger::EndsCooling() const {
  if (call_ == nullptr) return false;
  if (call_->operation == Operation::kBreak) {
    return call_->owner == kAbsent && call_->grace_ms == 0;
  }
  if (call_->operation == Operation::kFlush) return setting_.engine.ends_native_leases;
  return IsTakeover() && !call_->is_rename;
}

void Ledger::JudgeRedis(TimeMs now) {
  switch (call_->operation) {
    case Operation::kSet:
      return JudgeSet(now);
    case Operation::kMsetNx:
      if (outcome_->status != static_cast<int>(WriteStatus::kGranted)) return;
      for (std::size_t i = 0; i < call_->keys.size(); ++i) {
        const Token token = outcome_->token - (call_->keys.size() - 1 - i);
        JudgeSetGranted(call_->keys[i], token, now);
      }
      return;
    case Operation::kExpire:
      if (!IsRelease()) return JudgeExpire(now);
      [[fallthrough]];
    case Operation::kDel:
    case Operation::kFlush:
      for (int key : call_->named()) JudgeRelease(At(key), now);
      return;
    default:
      return JudgeSight(At(call_->key));
  }
}

// Within a session's grace, a new lease cannot prolong the hold.
void Ledger::SetLeaseEnd(Hold& hold, TimeMs lease_end) {
  const bool is_in_grace = hold.session_grace_ms && hold.session_connection == kAbsent;
  hold.end = is_in_grace ? std::min(hold.end, lease_end) : lease_end;
  hold.lease_end = lease_end;
}

void Ledger::JudgeSet(TimeMs now) {
  Key& key = At(call_->key);
  const bool is_held = !key.holds.empty();
  const bool is_alone = key.holds.size() == 1 && key.holds.front().owner == call_->owner;
  const auto is_earlier = [&](const Hold& hold) {
    return hold.token <= outcome_->newest_token_before;
  };
  switch (static_cast<WriteStatus>(outcome_->status)) {
    case WriteStatus::kGranted:
      return JudgeSetGranted(call_->key, outcome_->token, now);
    case WriteStatus::kDenied:
      // A hold of this step is no reason: the value's own place has given way to one ahead of it.
      Require(call_->only_new || std::ranges::none_of(key.holds, is_earlier),
              "only with NX a held key is denied to a write");
      return JudgeSetDenied(now);
    case WriteStatus::kNotHeld:
      return Require(call_->only_held && !is_held, "XX finds what is held");
    case WriteStatus::kNative:
      return Require(is_held && !is_alone && !MayBeEndedByOthers(key),
                     "a write of another value is refused only for a lock of LOCK");
    case WriteStatus::kLeaving:
      return Require(HasAnyNotice(key) && call_->written_end != WrittenEnd::kKept,
                     "a write is refused for a notice only if it gives another end");
    case WriteStatus::kRenewed:
      if (IsEndingRenewal()) {
        const auto own = FindOwner(key.holds, call_->owner);
        Require(own != key.holds.end() && own->is_leaving, "who holds ends its hold by a write");
        ConfirmAll(outcome_->token);
        return ReleaseLeaving(key, now);
      }
      Require(is_alone && !call_->only_new, "only who holds alone renews by a write");
      if (is_alone) JudgeSetRenewed(key.holds.front(), now);
      return;
    case WriteStatus::kTakenOver:
      Require(is_held && !call_->only_new && !is_alone, "a write takes over from another");
      if (is_held) JudgeTakeover(key, now);
      return;
    default:
      return;
  }
}

void Ledger::JudgeSetDenied(TimeMs now) {
  const auto place = FindOwner(At(call_->key).line, call_->owner);
  const bool has_place = place != At(call_->key).line.end();
  // A place of LOCK or MLOCK waits for its own turn, so SET NX is rightly denied.
  if (has_place && (place->is_mlock || place->state == PlaceState::kWaiting)) return;
  CheckDenied(now);
  if (call_->only_new) NoteDeniedValue(At(call_->key), now);
}

// A value that requests the lock with SET NX for the second time gets a place, dated from its first
// request; each further request prolongs it.
void Ledger::NoteDeniedValue(Key& key, TimeMs now) {
  const DurationMs keep_ms = setting_.KeepOf(call_->key);
  if (keep_ms == 0 || FindOwner(key.holds, call_->owner) != key.holds.end()) return;
  const auto own = FindOwner(key.line, call_->owner);
  if (own == key.line.end()) {
    std::uint64_t places = 0;
    for (const Key& other : keys_) places += other.line.size() + other.watchers.size();
    const std::size_t in_line = key.line.size() + key.watchers.size();
    const bool is_half_full = places >= setting_.engine.places_max / 2 ||
                              in_line >= setting_.engine.places_per_key_max / 2;
    const std::uint64_t present = CountOfClient(call_->connection);
    const bool has_room = present < setting_.engine.claims_per_client_max;
    if (is_half_full || !has_room || is_short_of_memory_ || has_no_room_) return;
    key.line.push_back({.owner = call_->owner,
                        .keys = {call_->key},
                        .arrival = next_arrival_++,
                        .state = PlaceState::kPassedOver,
                        .client = call_->connection,
                        .mode = {},
                        .lease_ms = call_->WrittenLease(),
                        .keep_ms = keep_ms,
                        .session_grace_ms = {},
                        .is_redis_way = true,
                        .end = After(now, keep_ms),
                        .is_mark = true});
  } else if (own->is_redis_way) {
    own->state = PlaceState::kKept;
    own->is_mark = false;
    own->client = call_->connection;
    own->lease_ms = call_->WrittenLease();
    own->keep_ms = keep_ms;
    own->end = After(now, keep_ms);
  }
}

void Ledger::JudgeSetGranted(int index, Token token, TimeMs now) {
  Key& key = At(index);
  Hold hold;
  hold.owner = call_->owner;
  hold.keys = {index};
  hold.token = token;
  hold.lease_ms = call_->WrittenLease();
  hold.lease_end = LeaseEnd(now, hold.lease_ms);
  hold.end = hold.lease_end;
  hold.is_redis_way = true;
  hold.client = call_->connection;
  const auto own = FindOwner(key.line, call_->owner);
  CheckNobodyIsPassed(key, static_cast<std::size_t>(own - key.line.begin()), {}, now);
  if (own != key.line.end()) {
    Require(own->is_absent() && !own->is_mlock, "who waits is granted by its turn only");
    hold.arrival = own->arrival;
    if (own->is_redis_way && call_->only_new) hold.keep_ms = setting_.KeepOf(index);
    key.line.erase(own);
  } else {
    CheckMayGrow(1);
  }
  NoteToken(token);
  AddHold(index, hold, now);
  DropIfOver(key, token);
}

// A hold written with an end in the past is over before anything else happens.
void Ledger::DropIfOver(Key& key, Token token) const {
  if (!call_->is_over()) return;
  std::erase_if(key.holds, [&](const Hold& hold) { return hold.token == token; });
}

void Ledger::JudgeSetRenewed(Hold& hold, TimeMs now) {
  Require(hold.token == outcome_->token, "a renewing write gives the same token");
  ConfirmAll(hold.token);
  if (call_->written_end != WrittenEnd::kKept) {
    Require(!hold.has_notice, "no write gives another end to a hold with notice");
    hold.lease_ms = call_->WrittenLease();
    SetLeaseEnd(hold, LeaseEnd(now, hold.lease_ms));
  }
}

void Ledger::JudgeTakeover(Key& key, TimeMs now) {
  Require(MayBeEndedByOthers(key), "old clients cannot end new locks");
  Require(!is_short_of_memory_ && !has_no_room_,
          "nothing is taken over while memory or room is short");
  Require(FindOwner(key.line, call_->owner) == key.line.end(), "a takeover ends the value's place");
  const std::vector<Hold> old = key.holds;
  const bool is_rename = call_->is_rename && old.size() == 1;
  // Of these holds, the oldest one of another owner is handed over. Unlike an end, this cannot be
  // undone.
  const auto from =
      std::ranges::find_if(old, [&](const Hold& one) { return one.owner != call_->owner; });
  if (from != old.end()) ConfirmAll(from->token);
  Hold hold;
  if (is_rename) hold = old.front();
  hold.is_redis_way = !was_heir_answered_ && (!call_->is_rename || old.front().is_redis_way);
  hold.has_notice = from != old.end() && from->has_notice;
  Require(call_->written_end == WrittenEnd::kKept || !HasAnyNotice(key),
          "no write gives another end to a hold with notice");
  if (call_->written_end == WrittenEnd::kKept) {
    const Hold& longest = *std::ranges::max_element(old, {}, &Hold::end);
    hold.lease_end = longest.end;
    hold.lease_ms = hold.lease_end == engine::kNever ? 0 : longest.lease_ms;
    if (hold.lease_end != engine::kNever && hold.lease_ms == 0) {
      hold.lease_ms = std::max<DurationMs>(hold.lease_end - now, 1);
    }
    if (hold.has_notice) KeepEnd(*from, hold);
  } else {
    hold.lease_ms = call_->WrittenLease();
    hold.lease_end = LeaseEnd(now, hold.lease_ms);
  }
  hold.owner = call_->owner;
  hold.keys = {call_->key};
  hold.is_mlock = false;
  hold.token = outcome_->token;
  hold.end = hold.lease_end;
  hold.session_grace_ms.reset();
  hold.session_connection = kAbsent;
  hold.arrival = 0;
  hold.is_confirmed = true;
  hold.channel = heir_channel_;
  hold.client = was_heir_answered_ ? heir_client_ : call_->connection;
  hold.is_leaving = false;
  key.holds.clear();
  if (!is_rename) key.cooling.clear();
  NoteToken(hold.token);
  AddHold(call_->key, hold, now);
  DropIfOver(key, hold.token);
}

void Ledger::JudgeRelease(Key& key, TimeMs now) {
  const bool is_any_leaving =
      std::ranges::any_of(key.holds, [](const Hold& hold) { return hold.is_leaving; });
  for (const Hold& hold : key.holds) {
    Require(!hold.is_leaving || hold.is_redis_way || setting_.engine.ends_native_leases,
            "old clients cannot end new locks");
    Require(hold.is_leaving || !hold.is_redis_way || hold.token > outcome_->newest_token_before ||
                !MayExpireNow(),
            "what was taken the Redis way is released by key");
  }
  if (call_->operation != Operation::kFlush) {
    Require(is_any_leaving == (outcome_->number == 1), "DEL tells whether it released");
  }
  ReleaseLeaving(key, now);
  if (EndsCooling()) key.cooling.clear();
}

// EXPIRE with a time in the past is certain to release the key only if it has no condition.
bool Ledger::MayExpireNow() const {
  return call_->operation != Operation::kExpire || call_->condition == ExpiryCondition::kNone;
}

void Ledger::JudgeExpire(TimeMs now) {
  Key& key = At(call_->key);
  TimeMs end = 0;
  for (const Hold& hold : key.holds) end = std::max(end, hold.end);
  const bool is_changed =
      !key.holds.empty() && MayBeEndedByOthers(key) && MayExpire(*call_, end, now);
  const bool is_refused = is_changed && HasAnyNotice(key);
  Require(is_refused == (outcome_->number == 2), "EXPIRE is refused for a hold with notice");
  if (is_refused) return;
  Require(is_changed == (outcome_->number == 1),
          "EXPIRE changes what was taken the Redis way, and nothing else");
  if (!is_changed) return;
  for (Hold& hold : key.holds) {
    hold.lease_ms = call_->lease_ms.value_or(0);
    SetLeaseEnd(hold, LeaseEnd(now, hold.lease_ms));
  }
}

void Ledger::JudgeSight(const Key& key) {
  const bool is_held = (outcome_->number & RedisSight::kHeld) != 0;
  Require(is_held == !key.holds.empty(), "a key exists while it is held");
  if (!is_held || key.holds.empty()) return;
  const bool is_redis_way = (outcome_->number & RedisSight::kRedisWay) != 0;
  Require(is_redis_way == key.holds.front().is_redis_way,
          "GET tells the value, and no owner of LOCK");
  Require(outcome_->status == key.holds.front().owner, "the oldest holder is named");
}

}  // namespace fairlock::simulation
