// The ledger: results of commands.

#include <algorithm>

#include "tests/simulation/ledger.h"
#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::LockStatus;
using engine::TransferStatus;
using engine::WaitStatus;

namespace {

bool HasToken(const Ledger::Hold& hold, const std::optional<Token>& token) {
  return !token || *token == hold.token;
}

}  // namespace

// Results of commands
void Ledger::JudgeResult(TimeMs now) {
  Key& key = keys_[static_cast<std::size_t>(call_->key)];
  switch (call_->operation) {
    case Operation::kLock:
      return JudgeLock(key, now);
    case Operation::kUnlock:
      return JudgeUnlock(key, now);
    case Operation::kRenew:
      return JudgeRenew(key, now);
    case Operation::kWait:
      return JudgeWait(key, now);
    case Operation::kCancel:
      return JudgeCancel(key);
    case Operation::kTransfer:
      return JudgeTransfer(key, now);
    case Operation::kBreak:
      return JudgeBreak(key);
    default:
      return JudgeLook(key);
  }
}

void Ledger::JudgeLock(Key& key, TimeMs now) {
  const auto hold = FindOwner(key.holds, call_->owner);
  const bool is_held = hold != key.holds.end();
  switch (static_cast<LockStatus>(outcome_->status)) {
    case LockStatus::kGranted:
      return JudgeLockGranted(key, now);
    case LockStatus::kQueued:
    case LockStatus::kKept:
      // What its return changed may have had effects before it is judged.
      if (FindOwner(key.line, call_->owner) == key.line.end()) CheckDenied(key, now);
      return JudgeQueued(key, now);
    case LockStatus::kAlready:
      Require(is_held, "only who holds is told so");
      if (is_held) JudgeAlready(key, now);
      return;
    case LockStatus::kDenied:
      if (is_held) return Require(call_->only_new, "a holder is denied only with NEW");
      if (outcome_->reason == static_cast<int>(engine::DenialReason::kFull)) {
        Require(call_->waiters_max.has_value(), "only MAXWAITERS makes a line full");
      } else {
        CheckDenied(key, now);
      }
      return;
    case LockStatus::kModeDiffers:
      Require(is_held && (hold->mode.is_shared || hold->mode.limit > 1),
              "an exclusive holder may ask for anything");
      return;
    default:
      return;
  }
}

void Ledger::JudgeAlready(Key& key, TimeMs now) {
  Hold& hold = *FindOwner(key.holds, call_->owner);
  Require(hold.token == outcome_->token, "a repeated LOCK gives the same token");
  const DurationMs asked_ms = call_->LeaseAsked(default_lease_ms_);
  const TimeMs asked_end = LeaseEnd(now, asked_ms);
  const bool had_only_session = hold.session_grace_ms && hold.lease_end == engine::kNever;
  const bool is_replaced = had_only_session && !call_->session_grace_ms;
  hold.lease_end = is_replaced ? asked_end : std::max(hold.lease_end, asked_end);
  hold.end = hold.lease_end;
  hold.lease_ms = hold.lease_end == engine::kNever ? 0 : std::max(hold.lease_ms, asked_ms);
  hold.session_grace_ms = call_->session_grace_ms;
  hold.session_connection = call_->connection;
}

void Ledger::CheckDenied(const Key& key, TimeMs now) {
  std::vector<engine::Mode> rooms = RoomsOf(key, now);
  bool is_anyone_ahead = false;
  bool is_own_ahead = true;
  const bool has_place = FindOwner(key.line, call_->owner) != key.line.end();
  for (const Place& place : key.line) {
    if (place.owner == call_->owner) {
      is_own_ahead = false;
      continue;
    }
    // Whether an absent one ahead of who comes back had a reservation before nobody was told.
    const bool is_in_the_way =
        place.state == PlaceState::kWaiting || (has_place && place.state == PlaceState::kKept);
    if (is_own_ahead && is_in_the_way) is_anyone_ahead = true;
    if (place.state == PlaceState::kKept) rooms.push_back(place.mode);
  }
  Require(is_anyone_ahead || !HasRoomBeside(rooms, call_->mode(), key.limit_override),
          "nobody is denied what could be granted");
}

void Ledger::CheckWaitersMax(const Key& key) {
  // REPLACE ends one place, however many there are.
  if (!call_->waiters_max || call_->replaces_newest) return;
  const auto standing = std::ranges::count_if(
      key.line, [](const Place& place) { return place.state != PlaceState::kPassedOver; });
  Require(standing < static_cast<std::ptrdiff_t>(*call_->waiters_max),
          "no line is longer than MAXWAITERS");
}

Ledger::Place Ledger::PlaceFor(const Call& call, TimeMs now) const {
  const bool is_waiting = call.wait_ms > 0;
  return {.owner = call.owner,
          .state = is_waiting ? PlaceState::kWaiting : PlaceState::kKept,
          .connection = call.connection,
          .mode = call.mode(),
          .lease_ms = call.LeaseAsked(default_lease_ms_),
          .keep_ms = call.keep_ms,
          .session_grace_ms = call.session_grace_ms,
          .min_hold_ms = call.min_hold_ms,
          .end = After(now, is_waiting ? call.wait_ms : call.keep_ms)};
}

void Ledger::JudgeLockGranted(Key& key, TimeMs now) {
  Require(FindOwner(key.holds, call_->owner) == key.holds.end(), "an owner holds once");
  Place place = PlaceFor(*call_, now);
  const auto own = FindOwner(key.line, call_->owner);
  CheckNobodyIsPassed(key, static_cast<std::size_t>(own - key.line.begin()), call_->mode(), now);
  if (own != key.line.end()) {
    Require(own->state != PlaceState::kWaiting, "an earlier request is answered");
    place.arrival = own->arrival;
    key.line.erase(own);
  }
  AddHold(key, HoldFor(place, outcome_->token, now), now);
}

void Ledger::JudgeQueued(Key& key, TimeMs now) {
  const bool is_waiting = call_->wait_ms > 0;
  Require(is_waiting == (outcome_->status == static_cast<int>(LockStatus::kQueued)),
          "who gave WAIT waits, and nobody else");
  Require(is_waiting || call_->keep_ms > 0, "only WAIT and KEEP take a place");
  Place place = PlaceFor(*call_, now);
  const auto earlier = FindOwner(key.line, call_->owner);
  if (earlier == key.line.end()) {
    CheckWaitersMax(key);
    place.arrival = next_arrival_++;
    key.line.push_back(place);
  } else {
    Require(earlier->state != PlaceState::kWaiting, "an earlier request is answered");
    place.arrival = earlier->arrival;
    *earlier = place;
  }
  if (is_waiting) SetWaiting(call_->connection, true);
}

void Ledger::JudgeUnlock(Key& key, TimeMs now) {
  const auto hold = FindOwner(key.holds, call_->owner);
  const bool held = hold != key.holds.end() && HasToken(*hold, call_->token);
  Require(held == (outcome_->number == 1), "UNLOCK releases for who holds, and for nobody else");
  if (held) {
    if (hold->cool_until > 0 && !IsOver(hold->cool_until, now)) {
      key.cooling.push_back({hold->mode, hold->cool_until});
    }
    key.holds.erase(hold);
  }
  const bool has_place = FindOwner(key.line, call_->owner) != key.line.end();
  Require(call_->token || !has_place, "without TOKEN the place goes too");
}

void Ledger::JudgeRenew(Key& key, TimeMs now) {
  const auto hold = FindOwner(key.holds, call_->owner);
  const bool held = hold != key.holds.end() && HasToken(*hold, call_->token) &&
                    (!hold->session_grace_ms || hold->session_connection != kAbsent);
  Require(held == (outcome_->number == 1), "RENEW renews for who holds, and for nobody else");
  if (!held) return;
  hold->is_confirmed = true;
  if (call_->lease_ms) hold->lease_ms = *call_->lease_ms;
  if (hold->lease_ms > 0) hold->lease_end = After(now, hold->lease_ms);
  hold->end = hold->lease_end;
}

void Ledger::JudgeWait(Key& key, TimeMs now) {
  const auto status = static_cast<WaitStatus>(outcome_->status);
  Require((status == WaitStatus::kFree) == key.holds.empty(), "WAIT sees whether a key is free");
  if (status != WaitStatus::kWaiting) return;
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
  const bool held = from != key.holds.end() && HasToken(*from, call_->token);
  const auto status = static_cast<TransferStatus>(outcome_->status);
  Require(held == (status != TransferStatus::kNotHeld), "TRANSFER needs a holder");
  if (!held || status != TransferStatus::kTransferred) return;
  Hold hold = *from;
  key.holds.erase(from);
  hold.owner = call_->new_owner;
  hold.token = outcome_->token;
  hold.session_grace_ms.reset();
  hold.arrival = 0;
  hold.is_confirmed = true;
  if (call_->lease_ms || hold.lease_end == engine::kNever) {
    hold.lease_ms = call_->lease_ms.value_or(default_lease_ms_);
    hold.lease_end = After(now, hold.lease_ms);
  }
  hold.end = hold.lease_end;
  const bool has_place = FindOwner(key.line, call_->new_owner) != key.line.end();
  Require(!has_place, "a transfer ends the new owner's place");
  AddHold(key, hold, now);
}

void Ledger::JudgeBreak(Key& key) {
  auto ended = static_cast<std::size_t>(outcome_->number);
  if (call_->owner != kAbsent) {
    const std::size_t found =
        std::erase_if(key.holds, [&](const Hold& hold) { return hold.owner == call_->owner; });
    Require(found == ended, "BREAK tells how many it ended");
    return;
  }
  key.cooling.clear();
  // What it ended was granted before what it made room for.
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
          place == key.line.end()
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
