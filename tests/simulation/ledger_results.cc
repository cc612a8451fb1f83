// The ledger: results of commands.

#include <algorithm>

#include "tests/simulation/ledger.h"
#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::LockStatus;
using engine::TransferStatus;
using engine::WaitStatus;

// Results of commands
void Ledger::JudgeResult(TimeMs now) {
  if (IsRedis(call_->operation)) return JudgeRedis(now);
  Key& key = At(call_->key);
  switch (call_->operation) {
    case Operation::kLock:
    case Operation::kMlock:
      return JudgeLock(now);
    case Operation::kUnlock:
    case Operation::kMunlock:
      return JudgeUnlock(now);
    case Operation::kRenew:
    case Operation::kMrenew:
      return JudgeRenew(now);
    case Operation::kWait:
      return JudgeWait(key, now);
    case Operation::kCancel:
      return JudgeCancel(key);
    case Operation::kTransfer:
      return JudgeTransfer(key, now);
    case Operation::kBreak:
      return JudgeBreak(key, now);
    default:
      return JudgeLook(key);
  }
}

// Whether, for LOCK, the owner waits with an MLOCK, or for MLOCK, the owner has a hold or place on
// that key that does not come from an MLOCK of exactly these keys.
bool Ledger::HasOtherStake(int key) const {
  const std::vector<int> named = call_->named();
  const auto is_other = [&](const auto& stake) {
    const bool is_same = stake.is_mlock && std::ranges::is_permutation(stake.keys, named);
    return call_->is_mlock() ? !is_same : stake.is_mlock;
  };
  const auto hold = FindOwner(At(key).holds, call_->owner);
  if (hold != At(key).holds.end()) return call_->is_mlock() && is_other(*hold);
  const auto place = FindOwner(At(key).line, call_->owner);
  return place != At(key).line.end() && is_other(*place);
}

void Ledger::JudgeLock(TimeMs now) {
  const std::vector<int> named = call_->named();
  const auto status = static_cast<LockStatus>(outcome_->status);
  if (call_->is_mlock()) {
    for (int key : named) {
      std::erase_if(At(key).line, [&](const Place& place) {
        return place.is_mark && place.owner == call_->owner;
      });
    }
  }
  const bool is_staked = std::ranges::any_of(named, [&](int key) { return HasOtherStake(key); });
  const bool is_refused =
      status == LockStatus::kStakedOtherwise || status == LockStatus::kWaitsByMlock;
  Require(is_staked == is_refused, "MLOCK and LOCK of one owner do not mix on a key");
  if (is_staked) return;
  for (int key : named) ReleaseLeaving(At(key), now);
  const auto hold = FindOwner(At(named.front()).holds, call_->owner);
  const bool is_held = hold != At(named.front()).holds.end();
  switch (status) {
    case LockStatus::kGranted:
      return JudgeLockGranted(now);
    case LockStatus::kQueued:
    case LockStatus::kKept:
      return JudgeQueued(now);
    case LockStatus::kAlready:
      for (int key : named) {
        const auto held = FindOwner(At(key).holds, call_->owner);
        Require(held != At(key).holds.end(), "only who holds is told so, of MLOCK all");
        if (held != At(key).holds.end()) JudgeAlready(*held, now);
      }
      return;
    case LockStatus::kDenied:
      return JudgeLockDenied(is_held, now);
    case LockStatus::kDeadlock:
      return JudgeDeadlock(now);
    case LockStatus::kModeDiffers:
      Require(is_held && (hold->mode.is_shared || hold->mode.limit > 1),
              "an exclusive holder may ask for anything");
      return;
    default:
      return;
  }
}

void Ledger::JudgeLockDenied(bool is_held, TimeMs now) {
  if (is_held) {
    const std::vector<int> named = call_->named();
    const bool has_notice = std::ranges::any_of(named, [&](int key) {
      const auto hold = FindOwner(At(key).holds, call_->owner);
      return hold != At(key).holds.end() && hold->has_notice;
    });
    return Require(call_->only_new || has_notice, "a holder is denied only with NEW or by notice");
  }
  if (outcome_->reason == static_cast<int>(engine::DenialReason::kFull)) {
    Require(call_->waiters_max.has_value(), "only MAXWAITERS makes a line full");
  } else {
    CheckDenied(now);
  }
}

void Ledger::JudgeAlready(Hold& hold, TimeMs now) {
  Require(hold.token == outcome_->token, "a repeated LOCK gives the same token");
  Require(!hold.has_notice, "a repeated LOCK does not postpone the end of a hold with notice");
  const DurationMs asked_ms = call_->LeaseAsked(default_lease_ms_);
  const TimeMs asked_end = LeaseEnd(now, asked_ms);
  hold.lease_end = std::max(hold.lease_end, asked_end);
  hold.end = hold.lease_end;
  hold.lease_ms = hold.lease_end == engine::kNever ? 0 : std::max(hold.lease_ms, asked_ms);
  if (call_->session_grace_ms) {
    hold.session_grace_ms = call_->session_grace_ms;
    hold.session_connection = call_->waits_on();
  } else if (hold.session_grace_ms &&
             (hold.session_connection == kAbsent ||
              (call_->channel != kAbsent && IsChannel(hold.session_connection)))) {
    hold.session_connection = call_->waits_on();
  }
  hold.client = call_->connection;
  if (call_->channel != kAbsent) hold.channel = call_->channel;
  hold.is_redis_way = false;
}

bool Ledger::MayBeGranted(int index, TimeMs now) const {
  const Key& key = At(index);
  std::vector<engine::Mode> rooms = RoomsOf(key, now);
  bool is_anyone_ahead = false;
  bool is_own_ahead = true;
  const bool has_place = FindOwner(key.line, call_->owner) != key.line.end();
  for (const Place& place : key.line) {
    if (place.owner == call_->owner) {
      is_own_ahead = false;
      continue;
    }
    // No answer has shown whether an absent waiter ahead of the returning one had a reservation,
    // and an absent MLOCK may be waiting for a slot on another key. Within a step, nobody has a
    // reservation for what the step has freed.
    const bool is_in_the_way =
        place.state == PlaceState::kWaiting ||
        ((has_place || place.is_mlock || is_in_step_) && place.state == PlaceState::kKept);
    if (is_own_ahead && is_in_the_way) is_anyone_ahead = true;
    if (place.state == PlaceState::kKept) rooms.push_back(place.mode);
  }
  return !is_anyone_ahead && HasRoomBeside(rooms, call_->mode(), key.limit_override);
}

void Ledger::CheckDenied(TimeMs now) {
  Require(!std::ranges::all_of(call_->named(), [&](int key) { return MayBeGranted(key, now); }),
          "nobody is denied what could be granted");
}

void Ledger::CheckWaitersMax(const Key& key) {
  // REPLACE ends one place, however many there are, so the length is not checked.
  if (!call_->waiters_max || call_->replaces_newest) return;
  const auto standing = std::ranges::count_if(
      key.line, [](const Place& place) { return place.state != PlaceState::kPassedOver; });
  Require(standing < static_cast<std::ptrdiff_t>(*call_->waiters_max),
          "no line is longer than MAXWAITERS");
}

void Ledger::CheckLineMax(const Key& key) {
  Require(key.line.size() + key.watchers.size() < setting_.engine.places_per_key_max,
          "no line is longer than is configured");
}

Ledger::Place Ledger::PlaceFor(const Call& call, TimeMs now) const {
  const bool is_waiting = call.wait_ms > 0;
  return {.owner = call.owner,
          .keys = call.named(),
          .is_mlock = call.is_mlock(),
          .state = is_waiting ? PlaceState::kWaiting : PlaceState::kKept,
          .connection = call.waits_on(),
          .client = call.connection,
          .mode = call.mode(),
          .lease_ms = call.LeaseAsked(default_lease_ms_),
          .keep_ms = call.keep_ms,
          .session_grace_ms = call.session_grace_ms,
          .min_hold_ms = call.min_hold_ms,
          .end = After(now, is_waiting ? call.wait_ms : call.keep_ms),
          .channel = call.channel,
          .wait_end = call.channel == kAbsent ? engine::kNever : After(now, call.wait_ms)};
}

void Ledger::JudgeLockGranted(TimeMs now) {
  Place place = PlaceFor(*call_, now);
  Keys in_order = place.keys;  // an earlier place keeps its own order
  const bool has_place = FindOwner(At(call_->key).line, call_->owner) != At(call_->key).line.end();
  if (!has_place) CheckMayGrow(place.keys.size());
  for (int index : place.keys) {
    Key& key = At(index);
    Require(FindOwner(key.holds, call_->owner) == key.holds.end(), "an owner holds once");
    const auto own = FindOwner(key.line, call_->owner);
    CheckNobodyIsPassed(key, static_cast<std::size_t>(own - key.line.begin()), call_->mode(), now);
    if (own == key.line.end()) continue;
    Require(own->state != PlaceState::kWaiting || IsSameChannel(*own),
            "an earlier request is answered");
    place.arrival = own->arrival;
    in_order = own->keys;
    key.line.erase(own);
  }
  place.keys = in_order;
  NoteToken(outcome_->token);
  for (int key : place.keys) AddHold(key, HoldFor(place, outcome_->token, now), now);
}

void Ledger::JudgeQueued(TimeMs now) {
  const bool is_waiting = call_->wait_ms > 0;
  Require(is_waiting == (outcome_->status == static_cast<int>(LockStatus::kQueued)),
          "who gave WAIT waits, and nobody else");
  Require(is_waiting || call_->keep_ms > 0, "only WAIT and KEEP take a place");
  Place place = PlaceFor(*call_, now);
  const auto earlier = FindOwner(At(call_->key).line, call_->owner);
  // The effects of the owner's return may have happened before the return is judged.
  const bool is_return_over = earlier != At(call_->key).line.end() && !outcome_->answers.empty();
  Require(!is_waiting || is_return_over || !FindStuck(Picture(now)).front(),
          "no wait begins that can never end");
  if (earlier == At(call_->key).line.end()) {
    CheckDenied(now);
    CheckMayGrow(place.keys.size());
    place.arrival = next_arrival_++;
    for (int key : place.keys) {
      CheckWaitersMax(At(key));
      CheckLineMax(At(key));
      At(key).line.push_back(place);
    }
  } else {
    Require(earlier->state != PlaceState::kWaiting || IsSameChannel(*earlier),
            "an earlier request is answered");
    place.arrival = earlier->arrival;
    place.keys = Keys(earlier->keys);
    for (int key : place.keys) *FindOwner(At(key).line, call_->owner) = place;
  }
  if (is_waiting && call_->channel == kAbsent) SetWaiting(call_->connection, true);
}

void Ledger::ReleaseLeaving(Key& key, TimeMs now) {
  for (const Hold& hold : key.holds) {
    if (!hold.is_leaving || hold.cool_until == 0 || IsOver(hold.cool_until, now)) continue;
    key.cooling.push_back({hold.mode, hold.cool_until});
  }
  std::erase_if(key.holds, [](const Hold& hold) { return hold.is_leaving; });
}

void Ledger::JudgeUnlock(TimeMs now) {
  std::int64_t held = 0;
  for (int index : call_->named()) {
    Key& key = At(index);
    held += std::ranges::count_if(key.holds, [](const Hold& hold) { return hold.is_leaving; });
    ReleaseLeaving(key, now);
    const bool has_place = FindOwner(key.line, call_->owner) != key.line.end();
    Require(call_->token || !has_place, "without TOKEN the place goes too");
  }
  Require(held == outcome_->number, "UNLOCK releases for who holds, and for nobody else");
}

void Ledger::JudgeRenew(TimeMs now) {
  const std::vector<int> named = call_->named();
  const auto is_renewable = [&](int key) {
    const auto hold = FindOwner(At(key).holds, call_->owner);
    return hold != At(key).holds.end() && (!call_->token || *call_->token == hold->token) &&
           (!hold->session_grace_ms || hold->session_connection != kAbsent) && !hold->has_notice;
  };
  const bool are_held = std::ranges::all_of(named, is_renewable);
  Require(are_held == (outcome_->number == 1), "RENEW renews for who holds, and for nobody else");
  if (!are_held) return;
  for (int key : named) {
    Hold& hold = *FindOwner(At(key).holds, call_->owner);
    ConfirmAll(hold.token);
    const DurationMs asked_ms = call_->lease_ms.value_or(hold.lease_ms);
    const TimeMs asked_end = LeaseEnd(now, asked_ms);
    const bool is_kept = call_->only_lengthens && hold.lease_end >= asked_end;
    if (!call_->only_lengthens || asked_ms > hold.lease_ms) hold.lease_ms = asked_ms;
    if (!is_kept) hold.lease_end = asked_end;
    if (hold.lease_end == engine::kNever) hold.lease_ms = 0;
    hold.end = hold.lease_end;
  }
}

void Ledger::JudgeWait(Key& key, TimeMs now) {
  const auto status = static_cast<WaitStatus>(outcome_->status);
  Require((status == WaitStatus::kFree) == key.holds.empty(), "WAIT sees whether a key is free");
  if (status != WaitStatus::kWaiting) return;
  Require(!is_short_of_memory_, "nobody begins to wait while memory is short");
  CheckLineMax(key);
  Token newest = 0;
  for (const Hold& hold : key.holds) newest = std::max(newest, hold.token);
  key.watchers.push_back({call_->connection, newest, After(now, call_->wait_ms)});
  SetWaiting(call_->connection, true);
}

void Ledger::JudgeCancel(Key& key) {
  Require((outcome_->number == 1) == was_cancelled_, "CANCEL tells whether it did");
  Require(FindOwner(key.line, call_->owner) == key.line.end(), "CANCEL ends a place");
}

void Ledger::JudgeTransfer(Key& key, TimeMs now) {
  const auto from = FindOwner(key.holds, call_->owner);
  const bool held = from != key.holds.end() && (!call_->token || *call_->token == from->token);
  const auto status = static_cast<TransferStatus>(outcome_->status);
  Require(held == (status != TransferStatus::kNotHeld), "TRANSFER needs a holder");
  if (!held || status != TransferStatus::kTransferred) return;
  ConfirmAll(from->token);
  Hold hold = *from;
  key.holds.erase(from);
  hold.owner = call_->new_owner;
  hold.keys = {call_->key};
  hold.is_mlock = false;
  hold.is_leaving = false;
  hold.token = outcome_->token;
  const bool was_only_session = hold.session_grace_ms && hold.lease_end == engine::kNever;
  hold.session_grace_ms.reset();
  hold.arrival = 0;
  hold.is_confirmed = true;
  hold.channel = heir_channel_;
  hold.client = heir_client_;
  hold.is_redis_way = false;
  if (call_->lease_ms || was_only_session) {
    const Hold before = hold;
    hold.lease_ms = call_->lease_ms.value_or(default_lease_ms_);
    hold.lease_end = After(now, hold.lease_ms);
    if (hold.has_notice) KeepEnd(before, hold);
  }
  hold.end = hold.lease_end;
  const bool has_place = FindOwner(key.line, call_->new_owner) != key.line.end();
  Require(!has_place, "a transfer ends the new owner's place");
  NoteToken(hold.token);
  AddHold(call_->key, hold, now);
}

void Ledger::KeepEnd(const Hold& before, Hold& hold) {
  hold.lease_end = std::min(hold.lease_end, before.lease_end);
  hold.lease_ms = hold.lease_ms == 0 ? before.lease_ms : std::min(hold.lease_ms, before.lease_ms);
}

bool Ledger::HasAnyNotice(const Key& key) {
  return std::ranges::any_of(key.holds, &Hold::has_notice);
}

void Ledger::JudgeNotice(Key& key, TimeMs now) {
  std::int64_t found = 0;
  for (Hold& hold : key.holds) {
    if (call_->owner != kAbsent && hold.owner != call_->owner) continue;
    ++found;
    const TimeMs lease_end = std::min(hold.lease_end, After(now, call_->grace_ms));
    if (hold.has_notice && lease_end == hold.lease_end) continue;
    hold.has_notice = true;
    hold.lease_end = lease_end;
    hold.end = std::min(hold.end, lease_end);
    hold.lease_ms = std::max<DurationMs>(lease_end - now, 1);
    hold.cool_until = 0;
  }
  Require(found == outcome_->number, "BREAK tells how many holds it has given notice");
}

void Ledger::JudgeBreak(Key& key, TimeMs now) {
  if (call_->grace_ms > 0) return JudgeNotice(key, now);
  auto ended = static_cast<std::size_t>(outcome_->number);
  if (call_->owner != kAbsent) {
    const std::size_t found =
        std::erase_if(key.holds, [&](const Hold& hold) { return hold.owner == call_->owner; });
    Require(found == ended, "BREAK tells how many it ended");
    return;
  }
  key.cooling.clear();
  // The broken holds were granted before the ones that they made way for.
  Require(ended <= key.holds.size(), "BREAK ends no more than there is");
  ended = std::min(ended, key.holds.size());
  key.holds.erase(key.holds.begin(), key.holds.begin() + static_cast<std::ptrdiff_t>(ended));
}

void Ledger::JudgeLook(const Key& key) {
  const auto hold = FindOwner(key.holds, call_->owner);
  const bool holds = hold != key.holds.end();
  switch (call_->operation) {
    case Operation::kCheck:
      Require(std::ranges::any_of(key.holds,
                                  [&](const Hold& one) { return one.token == call_->token; }) ==
                  (outcome_->number == 1),
              "CHECK knows the tokens that hold");
      return;
    case Operation::kCountHolders:
    case Operation::kInspect:
      Require(outcome_->number == static_cast<std::int64_t>(key.holds.size()),
              "the number of holders is what was granted");
      return;
    case Operation::kIsHeldBy:
      Require(outcome_->number == (holds ? 1 : 0), "LOCKED knows who holds");
      return;
    case Operation::kPosition: {
      const auto place = FindOwner(key.line, call_->owner);
      const auto position =
          place == key.line.end() || place->is_mark
              ? kAbsent
              : 1 + std::count_if(key.line.begin(), place, [](const Place& ahead) {
                  return ahead.state != PlaceState::kPassedOver;
                });
      Require(outcome_->number == (holds ? 0 : position), "POSITION is the order of arrival");
      return;
    }
    default:
      return;
  }
}

}  // namespace fairlock::simulation
