#include "tests/simulation/ledger.h"

#include <algorithm>

#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::LockStatus;
using engine::ResolutionKind;
using engine::TransferStatus;

namespace {

constexpr std::size_t kTokensRemembered = 16;

auto FindWaiting(Ledger::Key& key, int connection) {
  return std::ranges::find_if(key.line, [&](const Ledger::Place& place) {
    return place.connection == connection && place.state == Ledger::PlaceState::kWaiting;
  });
}

void DropOverdue(Ledger::Key& key, TimeMs now) {
  for (const Ledger::Hold& hold : key.holds) {
    const bool is_cooling = IsOver(hold.end, now) && hold.cool_until > 0;
    if (is_cooling) key.cooling.push_back({hold.mode, hold.cool_until});
  }
  std::erase_if(key.holds, [&](const Ledger::Hold& hold) { return IsOver(hold.end, now); });
  std::erase_if(key.cooling, [&](const Ledger::Cooling& room) { return IsOver(room.end, now); });
  std::erase_if(key.line, [&](const Ledger::Place& place) {
    return place.is_absent() && IsOver(place.end, now);
  });
}

}  // namespace

Ledger::Ledger(const Setting& setting)
    : keys_(setting.keys.size()),
      default_lease_ms_(setting.engine.default_lease_ms),
      reconnect_grace_ms_(setting.engine.reconnect_grace_ms),
      overrides_(setting),
      newest_token_(setting.engine.first_token - 1),
      recent_tokens_(kTokensRemembered, setting.engine.first_token) {}

void Ledger::Require(bool is_kept, const char* promise) {
  if (!is_kept && broken_ == nullptr) broken_ = promise;
}

// Steps
std::optional<std::string> Ledger::Observe(const Call& call, const Outcome& outcome, TimeMs now) {
  EndOverrides(now);
  if (IsSetting(call.operation)) {
    ObserveSetting(call, outcome, now);
    return End();
  }
  call_ = &call;
  outcome_ = &outcome;
  was_cancelled_ = false;
  Key& key = keys_[static_cast<std::size_t>(call.key)];
  DropOverdue(key, now);
  ForgetAbsent(key);
  bool is_result_judged = false;
  for (const Answer& answer : outcome.answers) {
    Require(answer.key == call.key, "a command has an effect on another key");
    // What follows from a grant has a higher token than the grant; who just
    // came to wait may be granted by what its new options change.
    const bool is_after_result =
        (GivesToken() && answer.token > outcome.token) ||
        (call.operation == Operation::kLock && answer.connection == call.connection);
    if (!is_result_judged && is_after_result) {
      JudgeResult(now);
      is_result_judged = true;
    }
    Judge(answer, now);
  }
  if (!is_result_judged) JudgeResult(now);
  ForgetAbsent(key);
  call_ = nullptr;  // it is done: nothing is leaving any more
  CheckSettled(key, now);
  return End();
}

void Ledger::ObserveSetting(const Call& call, const Outcome& outcome, TimeMs now) {
  switch (call.operation) {
    case Operation::kSetDefaultLease:
      default_lease_ms_ = call.lease_ms.value();
      return;
    case Operation::kSetReconnectGrace:
      reconnect_grace_ms_ = call.lease_ms.value();
      return;
    case Operation::kSetLimit:
      Require(outcome.status == overrides_.Set(call, now), "LIMIT SET tells whether there is room");
      break;
    default:
      Require(outcome.number == (overrides_.Drop(call.pattern) ? 1 : 0),
              "LIMIT DEL tells whether there was one");
  }
  NoteLimits();
}

void Ledger::EndOverrides(TimeMs now) {
  if (overrides_.EndBy(now)) NoteLimits();
}

void Ledger::NoteLimits() {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    keys_[i].limit_override = overrides_.LimitOf(static_cast<int>(i));
  }
}

std::optional<std::string> Ledger::ObserveAdvance(const Outcome& outcome, bool is_done,
                                                  TimeMs now) {
  EndOverrides(now);
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  if (is_done) {
    for (Key& key : keys_) {
      DropOverdue(key, now);
      CheckSettled(key, now);
    }
  }
  return End();
}

std::optional<std::string> Ledger::ObserveUnblock(int connection, const Outcome& outcome,
                                                  TimeMs now) {
  EndOverrides(now);
  Require(outcome.answers.empty() || IsWaiting(connection), "who does not wait is not unblocked");
  unblocked_ = connection;
  for (Key& key : keys_) {
    const bool is_its = FindWaiting(key, connection) != key.line.end() ||
                        FindConnection(key.watchers, connection) != key.watchers.end();
    if (!is_its) continue;
    DropOverdue(key, now);
    for (const Answer& answer : outcome.answers) Judge(answer, now);
    CheckSettled(key, now);
    break;
  }
  unblocked_ = kAbsent;
  Require(!IsWaiting(connection), "who is unblocked is answered");
  return End();
}

std::optional<std::string> Ledger::ObserveDisconnect(int connection, const Outcome& outcome,
                                                     TimeMs now) {
  EndOverrides(now);
  std::vector<Key*> touched;
  for (Key& key : keys_) {
    const auto gone = std::erase_if(
        key.watchers, [&](const Watcher& watcher) { return watcher.connection == connection; });
    const auto place = FindWaiting(key, connection);
    const bool is_waiting = place != key.line.end();
    if (is_waiting && !LoseRequest(*place, now)) key.line.erase(place);
    if (is_waiting || gone > 0) touched.push_back(&key);
  }
  const bool may_touch_more = LoseSessionsOf(connection, now, touched);
  Require(outcome.answers.empty() || !touched.empty() || may_touch_more,
          "a lost connection has no effect");
  SetWaiting(connection, false);
  for (Key* key : touched) DropOverdue(*key, now);
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  for (Key* key : touched) CheckSettled(*key, now);
  return End();
}

bool Ledger::LoseRequest(Place& place, TimeMs now) const {
  const bool is_kept = place.keep_ms > 0;
  place.state = is_kept ? PlaceState::kKept : PlaceState::kPassedOver;
  place.end = After(now, is_kept ? place.keep_ms : reconnect_grace_ms_);
  return is_kept || reconnect_grace_ms_ > 0;
}

bool Ledger::LoseSessionsOf(int connection, TimeMs now, std::vector<Key*>& touched) {
  bool is_one_over = false;
  for (Key& key : keys_) {
    bool is_touched = false;
    for (Hold& hold : key.holds) {
      if (!hold.session_grace_ms || hold.session_connection != connection) continue;
      if (IsOver(hold.end, now)) {
        is_one_over = true;
        continue;
      }
      is_touched = true;
      hold.session_connection = kAbsent;
      const DurationMs grace_ms = *hold.session_grace_ms;
      // -1: it ends with the connection, at any time of the clock.
      hold.end = grace_ms > 0 ? std::min(hold.lease_end, After(now, grace_ms)) : -1;
    }
    if (is_touched) touched.push_back(&key);
  }
  return is_one_over;
}

std::optional<std::string> Ledger::ObserveUndo(int key_index, Token token, const Outcome& outcome,
                                               TimeMs now) {
  EndOverrides(now);
  Key& key = keys_[static_cast<std::size_t>(key_index)];
  const bool is_undone = outcome.number == 1;
  const auto hold =
      std::ranges::find_if(key.holds, [&](const Hold& one) { return one.token == token; });
  const bool is_there = hold != key.holds.end();
  if (!is_there || hold->is_confirmed || !IsOver(hold->end, now)) {
    Require(is_undone == (is_there && !hold->is_confirmed),
            "a grant that nobody read or renewed is undone, and no other");
  }
  if (is_there && is_undone) {
    Place place{.owner = hold->owner,
                .arrival = hold->arrival,
                .mode = hold->mode,
                .keep_ms = hold->keep_ms,
                .session_grace_ms = {}};
    key.holds.erase(hold);
    const auto behind = std::ranges::find_if(
        key.line, [&](const Place& other) { return other.arrival > place.arrival; });
    if (place.arrival != 0 && LoseRequest(place, now)) key.line.insert(behind, place);
    DropOverdue(key, now);
  }
  Require(is_undone || outcome.answers.empty(), "a grant that stands has no effect");
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  if (is_undone) CheckSettled(key, now);
  return End();
}

void Ledger::ForgetAbsentOf(Key& key, int owner) {
  const auto gone = std::erase_if(
      key.line, [&](const Place& place) { return place.owner == owner && place.is_absent(); });
  if (gone > 0) was_cancelled_ = true;
}

void Ledger::ForgetAbsent(Key& key) {
  const bool ends_own = call_->operation == Operation::kCancel ||
                        (call_->operation == Operation::kUnlock && !call_->token);
  if (ends_own) ForgetAbsentOf(key, call_->owner);
  if (call_->operation == Operation::kTransfer && GivesToken()) {
    ForgetAbsentOf(key, call_->new_owner);
  }
  if (!outcome_->owners_in_line) return;
  std::erase_if(key.line, [&](const Place& place) {
    return place.state == PlaceState::kKept && place.owner != call_->owner &&
           std::ranges::count(*outcome_->owners_in_line, place.owner) == 0;
  });
}

std::optional<std::string> Ledger::End() {
  call_ = nullptr;
  outcome_ = nullptr;
  if (broken_ == nullptr) return std::nullopt;
  return std::string("broken promise: ") + broken_;
}

void Ledger::CheckSettled(const Key& key, TimeMs now) {
  const auto is_over = [&](const Watcher& watcher) { return IsOver(watcher.give_up, now); };
  Require(std::ranges::none_of(key.watchers, is_over), "a WAIT for a key ends in time");
  const std::vector<engine::Mode> rooms = RoomsOf(key, now);
  for (const Hold& hold : key.holds) {
    Require(rooms.size() <= hold.mode.limit || hold.mode.is_shared || overrides_.was_ever_used(),
            "no hold beside more holds than it tolerates");
  }
  std::vector<engine::Mode> wanted = rooms;
  for (const Place& place : key.line) {
    Require(place.state != PlaceState::kSuperseded, "a place is answered once it is superseded");
    Require(place.state != PlaceState::kWaiting || !IsOver(place.end, now),
            "a wait for a lock ends in time");
    if (place.state == PlaceState::kKept) wanted.push_back(place.mode);
  }
  const auto first = std::ranges::find_if(
      key.line, [](const Place& place) { return place.state == PlaceState::kWaiting; });
  Require(first == key.line.end() || !HasRoomBeside(wanted, first->mode, key.limit_override),
          "nobody is left waiting who could be granted");
  for (const Watcher& watcher : key.watchers) {
    const bool is_kept = std::ranges::any_of(
        key.holds, [&](const Hold& hold) { return hold.token <= watcher.newest_token; });
    Require(is_kept, "WAIT is answered when no hold of its time remains");
  }
}

// Answers to those who waited
void Ledger::Judge(const Answer& answer, TimeMs now) {
  Require(IsWaiting(answer.connection), "only who waits is answered, and once");
  if (broken_ != nullptr) return;
  SetWaiting(answer.connection, false);
  Key& key = keys_[static_cast<std::size_t>(answer.key)];
  const auto place = FindWaiting(key, answer.connection);
  if (place != key.line.end()) {
    return JudgePlaceAnswer(answer, key, static_cast<std::size_t>(place - key.line.begin()), now);
  }
  const auto watcher = FindConnection(key.watchers, answer.connection);
  Require(watcher != key.watchers.end(), "an answer belongs to the key of its request");
  if (watcher == key.watchers.end()) return;
  JudgeWatcherAnswer(answer, key, static_cast<std::size_t>(watcher - key.watchers.begin()), now);
}

void Ledger::JudgePlaceAnswer(const Answer& answer, Key& key, std::size_t index, TimeMs now) {
  Place& place = key.line[index];
  const bool is_own = call_ != nullptr && call_->owner == place.owner;
  switch (answer.kind) {
    case ResolutionKind::kGranted:
      return JudgeGrantAfterWait(answer, key, index, now);
    case ResolutionKind::kTimedOut:
      Require(IsOver(place.end, now) || place.connection == unblocked_, "no wait ends early");
      if (place.keep_ms == 0) break;
      place.state = PlaceState::kKept;
      place.end = After(now, place.keep_ms);
      if (call_ != nullptr) ForgetAbsent(key);
      return;
    case ResolutionKind::kCancelled: {
      const bool is_cause = is_own && (call_->operation == Operation::kCancel ||
                                       call_->operation == Operation::kUnlock);
      Require(is_cause, "only CANCEL and UNLOCK cancel");
      was_cancelled_ = true;
      break;
    }
    case ResolutionKind::kSuperseded:
      Require(is_own && call_->operation == Operation::kLock, "only LOCK supersedes");
      place.state = PlaceState::kSuperseded;
      return;
    case ResolutionKind::kReplaced: {
      Require(call_ != nullptr && call_->operation == Operation::kLock && call_->replaces_newest &&
                  answer.by == call_->owner,
              "only REPLACE replaces");
      const bool is_newest =
          std::none_of(key.line.begin() + static_cast<std::ptrdiff_t>(index) + 1, key.line.end(),
                       [](const Place& other) { return other.state == PlaceState::kWaiting; });
      Require(is_newest, "REPLACE ends the newest place");
      break;
    }
    default:
      Require(false, "LOCK is not answered as WAIT");
  }
  RemoveAt(key.line, index);
}

void Ledger::JudgeGrantAfterWait(const Answer& answer, Key& key, std::size_t index, TimeMs now) {
  const Place place = key.line[index];
  // The new owner of a transfer is told its token; the result counts.
  if (GivesToken() && answer.token == outcome_->token && call_->operation == Operation::kTransfer &&
      place.owner == call_->new_owner) {
    RemoveAt(key.line, index);
    return;
  }
  CheckNobodyIsPassed(key, index, place.mode, now);
  RemoveAt(key.line, index);
  AddHold(key, HoldFor(place, answer.token, now), now);
}

void Ledger::JudgeWatcherAnswer(const Answer& answer, Key& key, std::size_t index, TimeMs now) {
  const Watcher watcher = key.watchers[index];
  RemoveAt(key.watchers, index);
  if (answer.kind == ResolutionKind::kWatchTimedOut) {
    Require(IsOver(watcher.give_up, now) || watcher.connection == unblocked_,
            "no WAIT times out early");
    return;
  }
  Require(answer.kind == ResolutionKind::kWatchEnded, "WAIT is not answered as LOCK");
  const bool is_over = std::ranges::none_of(key.holds, [&](const Hold& hold) {
    return hold.token <= watcher.newest_token && !IsOver(hold.end, now) && !IsLeaving(hold);
  });
  Require(is_over, "WAIT is not answered while a hold of its time remains");
}

// Holds
bool Ledger::IsLeaving(const Hold& hold) const {
  if (call_ == nullptr) return false;
  switch (call_->operation) {
    case Operation::kUnlock:
      return outcome_->number == 1 && hold.owner == call_->owner;
    case Operation::kTransfer:
      return GivesToken() && hold.owner == call_->owner;
    case Operation::kBreak:
      return call_->owner == kAbsent || hold.owner == call_->owner;
    default:
      return false;
  }
}

bool Ledger::GivesToken() const {
  if (call_ == nullptr) return false;
  if (call_->operation == Operation::kLock) {
    return outcome_->status == static_cast<int>(LockStatus::kGranted);
  }
  return call_->operation == Operation::kTransfer &&
         outcome_->status == static_cast<int>(TransferStatus::kTransferred);
}

Ledger::Hold Ledger::HoldFor(const Place& place, Token token, TimeMs now) const {
  const TimeMs end = LeaseEnd(now, place.lease_ms);
  return {.owner = place.owner,
          .token = token,
          .mode = place.mode,
          .lease_ms = place.lease_ms,
          .lease_end = end,
          .end = end,
          .session_grace_ms = place.session_grace_ms,
          .session_connection = place.connection,
          .cool_until = place.min_hold_ms > 0 ? After(now, place.min_hold_ms) : 0,
          .arrival = place.arrival,
          .keep_ms = place.keep_ms};
}

bool Ledger::IsRoomTaken(const Hold& hold, TimeMs now) const {
  const bool is_cooling = hold.cool_until > 0 && !IsOver(hold.cool_until, now);
  if (IsLeaving(hold)) return is_cooling && call_->operation == Operation::kUnlock;
  return !IsOver(hold.end, now) || is_cooling;
}

std::vector<engine::Mode> Ledger::RoomsOf(const Key& key, TimeMs now) const {
  std::vector<engine::Mode> rooms;
  for (const Hold& hold : key.holds) {
    if (IsRoomTaken(hold, now)) rooms.push_back(hold.mode);
  }
  const bool ends_cooling =
      call_ != nullptr && call_->operation == Operation::kBreak && call_->owner == kAbsent;
  for (const Cooling& room : key.cooling) {
    if (!ends_cooling && !IsOver(room.end, now)) rooms.push_back(room.mode);
  }
  return rooms;
}

void Ledger::CheckNobodyIsPassed(const Key& key, std::size_t index, const engine::Mode& mode,
                                 TimeMs now) {
  std::vector<engine::Mode> rooms = RoomsOf(key, now);
  for (std::size_t i = 0; i < index; ++i) {
    const Place& place = key.line[i];
    // Whether its place changed before or after this grant nobody was told.
    const bool is_own = call_ != nullptr && place.owner == call_->owner;
    if (is_own || (place.is_absent() && IsOver(place.end, now))) continue;
    Require(place.state != PlaceState::kWaiting, "nobody passes in line");
    if (place.state == PlaceState::kKept) rooms.push_back(place.mode);
  }
  Require(HasRoomBeside(rooms, mode, key.limit_override),
          "nobody takes the room of an absent one ahead in line");
}

void Ledger::AddHold(Key& key, const Hold& hold, TimeMs now) {
  Require(hold.token > newest_token_, "tokens rise over everything");
  newest_token_ = std::max(newest_token_, hold.token);
  recent_tokens_[tokens_given_++ % kTokensRemembered] = hold.token;
  // What is transferred was granted under other limits.
  const bool is_transfer = call_ != nullptr && call_->operation == Operation::kTransfer &&
                           GivesToken() && hold.token == outcome_->token;
  Require((is_transfer && overrides_.was_ever_used()) ||
              HasRoomBeside(RoomsOf(key, now), hold.mode, key.limit_override),
          "no hold is granted beside one that does not tolerate it");
  for (const Hold& other : key.holds) {
    if (IsOver(other.end, now) || IsLeaving(other)) continue;
    Require(other.owner != hold.owner, "an owner holds once");
  }
  key.holds.push_back(hold);
}

// Who waits
bool Ledger::IsWaiting(int connection) const {
  const auto index = static_cast<std::size_t>(connection);
  return connection >= 0 && index < is_waiting_.size() && is_waiting_[index];
}

void Ledger::SetWaiting(int connection, bool is_waiting) {
  const auto index = static_cast<std::size_t>(connection);
  if (index >= is_waiting_.size()) is_waiting_.resize(index + 1, false);
  is_waiting_[index] = is_waiting;
}

TimeMs Ledger::NextDeadline() const {
  TimeMs next = overrides_.NextEnd();
  for (const Key& key : keys_) {
    for (const Hold& hold : key.holds) next = std::min(next, hold.end);
    for (const Cooling& room : key.cooling) next = std::min(next, room.end);
    for (const Place& place : key.line) next = std::min(next, place.end);
    for (const Watcher& watcher : key.watchers) next = std::min(next, watcher.give_up);
  }
  return next;
}

Token Ledger::EarlierToken(std::size_t back) const {
  return recent_tokens_[back % kTokensRemembered];
}

}  // namespace fairlock::simulation
