#include "tests/simulation/ledger.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::LockStatus;

namespace {

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

void AddMissing(std::vector<int>& keys, const std::vector<int>& others) {
  for (int other : others) {
    if (std::ranges::count(keys, other) == 0) keys.push_back(other);
  }
}

}  // namespace

Ledger::Ledger(const Setting& setting)
    : setting_(setting),
      keys_(setting.keys.size()),
      default_lease_ms_(setting.engine.default_lease_ms),
      reconnect_grace_ms_(setting.engine.reconnect_grace_ms),
      overrides_(setting),
      newest_token_(setting.engine.first_token - 1),
      newest_before_(newest_token_) {
  recent_tokens_.fill(setting.engine.first_token);
}

void Ledger::Require(bool is_kept, const char* promise) {
  if (!is_kept && broken_ == nullptr) broken_ = promise;
}

// Steps
std::optional<std::string> Ledger::Observe(const Call& call, const Outcome& outcome, TimeMs now) {
  if (is_in_step_ && call.wait_ms > 0) return Observe(call.WithoutWait(), outcome, now);
  if (call.waits_by_notify_alone()) return Observe(call.WithWait(), outcome, now);
  EndOverrides(now);
  if (IsSetting(call.operation)) {
    ObserveSetting(call, outcome, now);
    return End(now);
  }
  call_ = &call;
  asked_ = &call;
  outcome_ = &outcome;
  was_cancelled_ = false;
  was_heir_answered_ = false;
  heir_channel_ = kAbsent;
  heir_client_ = kAbsent;
  const Keys reach = Reach(call.named());
  may_hand_over_ = !is_in_step_ || overrides_.was_ever_used() || IsAnythingOver(reach, now);
  const Keys settled = DropOverdueOn(call.named(), now);
  MarkLeaving();
  ForgetAbsent();
  bool is_result_judged = false;
  for (const Answer& answer : outcome.answers) {
    Require(std::ranges::count(reach, answer.key) > 0, "a command has an effect on another key");
    // Judges the command's result before the answers that follow from it: a hand-over that a grant
    // causes has a higher token than the grant, and a request that has just started to wait may be
    // granted because of the options it brought.
    const bool is_asking = call.operation == Operation::kLock || call.is_mlock();
    const bool is_own = answer.connection == call.waits_on() &&
                        (call.channel == kAbsent || IsGrantOfNewPlace(answer));
    const bool is_after_result =
        (GivesToken() && answer.token > outcome.token) || (is_asking && is_own);
    if (!is_result_judged && is_after_result) {
      JudgeResult(now);
      is_result_judged = true;
    }
    Judge(answer, now);
  }
  if (!is_result_judged) JudgeResult(now);
  ForgetAbsent();
  call_ = nullptr;  // the command is done: from here on, none of its holds are leaving
  for (int key : call.named()) {
    for (Hold& hold : At(key).holds) hold.is_leaving = false;
  }
  if (is_in_step_) {
    AddMissing(step_keys_, settled);
  } else {
    CheckSettled(settled, now);
  }
  may_hand_over_ = true;
  return End(now);
}

std::optional<std::string> Ledger::ObserveStepEnd(const Outcome& outcome, TimeMs now) {
  outcome_ = &outcome;
  is_in_step_ = false;
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  CheckSettled(std::exchange(step_keys_, {}), now);
  return End(now);
}

void Ledger::ObserveSetting(const Call& call, const Outcome& outcome, TimeMs now) {
  switch (call.operation) {
    case Operation::kSetDefaultLease:
      default_lease_ms_ = call.lease_ms.value();
      return;
    case Operation::kSetReconnectGrace:
      reconnect_grace_ms_ = call.lease_ms.value();
      return;
    case Operation::kSetShortage:
      is_short_of_memory_ = call.is_short;
      return;
    case Operation::kSetNoRoom:
      has_no_room_ = call.is_short;
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
  outcome_ = &outcome;
  EndOverrides(now);
  for (const Expiry& expiry : outcome.expiries) {
    std::vector<Hold>& holds = At(expiry.key).holds;
    const auto hold =
        std::ranges::find_if(holds, [&](const Hold& one) { return one.token == expiry.token; });
    Require(hold != holds.end() && IsOver(hold->end, now), "no lease ends early, or twice");
    if (hold == holds.end()) continue;
    if (hold->cool_until > 0) At(expiry.key).cooling.push_back({hold->mode, hold->cool_until});
    holds.erase(hold);
  }
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  // Comes last, because a place may have become absent in the same step.
  for (const Lapse& lapse : outcome.lapses) {
    const auto place = FindOwner(At(lapse.key).line, lapse.owner);
    const bool is_there = place != At(lapse.key).line.end() && place->is_absent();
    Require(is_there && IsOver(place->end, now), "no KEEP and no grace ends early");
    if (is_there) At(lapse.key).line.erase(place);
  }
  if (is_done) {
    Keys all;
    for (int key = 0; key < static_cast<int>(keys_.size()); ++key) all.push_back(key);
    CheckSettled(DropOverdueOn(all, now), now);
  }
  return End(now);
}

std::optional<std::string> Ledger::ObserveUnblock(int connection, const Outcome& outcome,
                                                  TimeMs now) {
  outcome_ = &outcome;
  EndOverrides(now);
  Require(outcome.answers.empty() || IsWaiting(connection), "who does not wait is not unblocked");
  unblocked_ = connection;
  Keys keys;
  for (int key = 0; key < static_cast<int>(keys_.size()); ++key) {
    if (FindWaiting(At(key).line, connection) != At(key).line.end() ||
        FindConnection(At(key).watchers, connection) != At(key).watchers.end()) {
      keys.push_back(key);
    }
  }
  keys = DropOverdueOn(keys, now);
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  CheckSettled(keys, now);
  unblocked_ = kAbsent;
  Require(!IsWaiting(connection), "who is unblocked is answered");
  return End(now);
}

std::optional<std::string> Ledger::ObserveDisconnect(int connection, const Outcome& outcome,
                                                     TimeMs now) {
  outcome_ = &outcome;
  EndOverrides(now);
  Keys touched;
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    Key& key = At(index);
    const auto gone = std::erase_if(
        key.watchers, [&](const Watcher& watcher) { return watcher.connection == connection; });
    const auto place = FindWaiting(key.line, connection);
    const bool is_waiting = place != key.line.end();
    if (is_waiting && !LoseRequest(*place, now)) key.line.erase(place);
    if (is_waiting || gone > 0) touched.push_back(index);
  }
  LoseSessionsOf(connection, now, touched);
  Require(outcome.answers.empty() || !touched.empty(), "a lost connection has no effect");
  SetWaiting(connection, false);
  touched = DropOverdueOn(touched, now);
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  CheckSettled(touched, now);
  return End(now);
}

bool Ledger::LoseRequest(Place& place, TimeMs now) const {
  const bool is_kept = place.keep_ms > 0;
  place.state = is_kept ? PlaceState::kKept : PlaceState::kPassedOver;
  place.end = After(now, is_kept ? place.keep_ms : reconnect_grace_ms_);
  return is_kept || reconnect_grace_ms_ > 0;
}

void Ledger::LoseSessionsOf(int connection, TimeMs now, Keys& touched) {
  for (int key = 0; key < static_cast<int>(keys_.size()); ++key) {
    for (Hold& hold : At(key).holds) {
      if (!hold.session_grace_ms || hold.session_connection != connection) continue;
      AddMissing(touched, {key});
      if (IsOver(hold.end, now)) continue;
      hold.session_connection = kAbsent;
      const DurationMs grace_ms = *hold.session_grace_ms;
      // -1 if the session ends with its connection, whatever the clock shows.
      hold.end = grace_ms > 0 ? std::min(hold.lease_end, After(now, grace_ms)) : -1;
    }
  }
}

std::optional<std::string> Ledger::ObserveUndo(Token token, const Outcome& outcome, TimeMs now) {
  outcome_ = &outcome;
  EndOverrides(now);
  Keys keys;
  std::optional<Hold> grant;
  bool has_notice = false;
  for (int key = 0; key < static_cast<int>(keys_.size()); ++key) {
    const auto hold =
        std::ranges::find_if(At(key).holds, [&](const Hold& one) { return one.token == token; });
    if (hold == At(key).holds.end()) continue;
    keys.push_back(key);
    has_notice = has_notice || hold->has_notice;
    // If a LOCK of one key was repeated, only the hold may have changed; the place is still that of
    // the first LOCK.
    if (!grant || hold->keys.front() == key) grant = *hold;
  }
  const bool is_undone = outcome.number == 1;
  Require(is_undone == (grant && !grant->is_confirmed),
          "a grant that nobody read or renewed is undone, and no other");
  Require(is_undone || outcome.answers.empty(), "a grant that stands has no effect");
  if (!is_undone || !grant) return End(now);
  // The place returns to the queue unless a part of it is gone or has notice.
  const bool returns = grant->arrival != 0 && keys.size() == grant->keys.size() && !has_notice;
  Place place{.owner = grant->owner,
              .keys = grant->keys,
              .is_mlock = grant->is_mlock,
              .arrival = grant->arrival,
              .client = grant->client,
              .mode = grant->mode,
              .lease_ms = grant->lease_ms,
              .keep_ms = grant->keep_ms,
              .session_grace_ms = grant->session_grace_ms,
              .min_hold_ms = grant->min_hold_ms,
              .is_redis_way = grant->is_redis_way,
              .channel = grant->channel,
              .wait_end = grant->wait_end};
  undone_ = token;
  bool stays = true;
  if (place.channel != kAbsent) place.connection = ConnectionOfChannel(place.channel);
  if (IsOpen(place.channel)) {
    WaitAgain(place, now);
  } else {
    stays = LoseRequest(place, now);
  }
  for (int index : keys) {
    Key& key = At(index);
    std::erase_if(key.holds, [&](const Hold& hold) { return hold.token == token; });
    const auto behind = std::ranges::find_if(
        key.line, [&](const Place& other) { return other.arrival > place.arrival; });
    if (returns && stays) key.line.insert(behind, place);
  }
  keys = DropOverdueOn(keys, now);
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  CheckSettled(keys, now);
  return End(now);
}

std::optional<std::string> Ledger::End(TimeMs now) {
  JudgeLosses(now);
  call_ = nullptr;
  asked_ = nullptr;
  outcome_ = nullptr;
  undone_ = 0;
  if (broken_ == nullptr) return std::nullopt;
  return std::string("broken promise: ") + broken_;
}

// What a command ends
bool Ledger::IsLeaving(const Hold& hold, bool is_part) const {
  const bool is_own = hold.owner == call_->owner && (!call_->token || *call_->token == hold.token);
  switch (call_->operation) {
    case Operation::kUnlock:
    case Operation::kMunlock:
      return is_own;
    case Operation::kMlock:
      return is_part && hold.owner == call_->owner &&
             outcome_->status != static_cast<int>(LockStatus::kStakedOtherwise);
    case Operation::kTransfer:
      return GivesToken() && hold.owner == call_->owner;
    case Operation::kBreak:
      return call_->grace_ms == 0 && (call_->owner == kAbsent || hold.owner == call_->owner);
    case Operation::kSet:
      if (IsEndingRenewal()) return hold.token == outcome_->token;
      return IsTakeover() && hold.token != outcome_->token;
    default:
      // Identified by their tokens, because holds granted as a consequence may be released only in
      // a later step.
      return IsRedis(call_->operation) &&
             std::ranges::any_of(outcome_->releases, [&](const Expiry& release) {
               return release.token == hold.token;
             });
  }
}

void Ledger::MarkLeaving() {
  const Keys named = call_->named();
  const bool is_part = !std::ranges::all_of(named, [&](int key) {
    return FindOwner(At(key).holds, call_->owner) != At(key).holds.end();
  });
  for (int key : named) {
    for (Hold& hold : At(key).holds) hold.is_leaving = IsLeaving(hold, is_part);
  }
}

void Ledger::ForgetAbsentOf(int key, int owner) {
  const auto place = FindOwner(At(key).line, owner);
  if (place == At(key).line.end() || !place->is_absent()) return;
  if (!place->is_mlock) {
    heir_channel_ = place->channel;
    heir_client_ = place->client;
  }
  // CANCEL also removes a mark, but replies that there was no place.
  was_cancelled_ = was_cancelled_ || !place->is_mark;
  RemovePlace(Place(*place));
}

void Ledger::ForgetAbsent() {
  const Keys named = call_->named();
  const bool ends_own =
      call_->operation == Operation::kCancel ||
      ((call_->operation == Operation::kUnlock || call_->operation == Operation::kMunlock) &&
       !call_->token);
  for (int key : named) {
    if (ends_own) ForgetAbsentOf(key, call_->owner);
    if (call_->operation == Operation::kTransfer && GivesToken()) {
      ForgetAbsentOf(key, call_->new_owner);
    }
    if (IsTakeover()) ForgetAbsentOf(key, call_->owner);
    if (call_->operation == Operation::kFlush) {
      std::erase_if(At(key).line, [](const Place& place) { return place.is_redis_way; });
    }
  }
  for (std::size_t i = 0; i < outcome_->owners_in_line.size(); ++i) {
    const std::vector<int>& owners = outcome_->owners_in_line[i];
    const std::vector<Place> line = At(named[i]).line;
    for (const Place& place : line) {
      const bool is_gone = place.state == PlaceState::kKept && place.owner != call_->owner &&
                           std::ranges::count(owners, place.owner) == 0;
      if (is_gone) RemovePlace(place);
    }
  }
}

void Ledger::RemovePlace(const Place& place) {
  for (int key : place.keys) {
    std::erase_if(At(key).line, [&](const Place& other) { return other.owner == place.owner; });
  }
}

// State
bool Ledger::IsAnythingOver(const Keys& keys, TimeMs now) const {
  const auto is_over = [&](const auto& one) { return IsOver(one.end, now); };
  return std::ranges::any_of(keys, [&](int index) {
    const Key& key = At(index);
    return std::ranges::any_of(key.holds, is_over) || std::ranges::any_of(key.line, is_over) ||
           std::ranges::any_of(key.cooling, is_over);
  });
}

Ledger::Keys Ledger::Reach(Keys keys) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (const Place& place : At(keys[i]).line) AddMissing(keys, place.keys);
  }
  return keys;
}

Ledger::Keys Ledger::DropOverdueOn(Keys keys, TimeMs now) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (const Place& place : At(keys[i]).line) {
      if (IsOver(place.end, now)) AddMissing(keys, place.keys);
    }
  }
  for (int key : keys) DropOverdue(At(key), now);
  return keys;
}

bool Ledger::IsRoomTaken(const Hold& hold, TimeMs now, bool is_settled) const {
  const bool is_cooling = hold.cool_until > 0 && !IsOver(hold.cool_until, now);
  if (hold.is_leaving) {
    const bool may_cool = call_->operation != Operation::kBreak &&
                          call_->operation != Operation::kTransfer && !IsTakeover() &&
                          !EndsCooling();
    return is_cooling && may_cool;
  }
  return !is_settled || !IsOver(hold.end, now) || is_cooling;
}

std::vector<engine::Mode> Ledger::RoomsOf(const Key& key, TimeMs now, bool is_settled) const {
  std::vector<engine::Mode> rooms;
  for (const Hold& hold : key.holds) {
    if (IsRoomTaken(hold, now, is_settled)) rooms.push_back(hold.mode);
  }
  for (const Cooling& room : key.cooling) {
    if (!EndsCooling() && (!is_settled || !IsOver(room.end, now))) rooms.push_back(room.mode);
  }
  return rooms;
}

void Ledger::CheckSettled(const Keys& keys, TimeMs now) {
  for (int index : keys) {
    const Key& key = At(index);
    const auto is_over = [&](const Watcher& watcher) { return IsOver(watcher.give_up, now); };
    Require(std::ranges::none_of(key.watchers, is_over), "a WAIT for a key ends in time");
    const std::size_t rooms = RoomsOf(key, now).size();
    for (const Hold& hold : key.holds) {
      Require(rooms <= hold.mode.limit || hold.mode.is_shared || overrides_.was_ever_used(),
              "no hold beside more holds than it tolerates");
    }
    for (const Place& place : key.line) {
      Require(place.state != PlaceState::kSuperseded, "a place is answered once it is superseded");
      Require(place.state != PlaceState::kWaiting || !IsOver(place.end, now),
              "a wait for a lock ends in time");
    }
    const auto first = std::ranges::find_if(
        key.line, [](const Place& place) { return place.state == PlaceState::kWaiting; });
    Require(first == key.line.end() || !IsLeftWaiting(*first, keys, now),
            "nobody is left waiting who could be granted");
    for (const Watcher& watcher : key.watchers) {
      const bool is_kept = std::ranges::any_of(
          key.holds, [&](const Hold& hold) { return hold.token <= watcher.newest_token; });
      Require(is_kept, "WAIT is answered when no hold of its time remains");
    }
  }
}

bool Ledger::IsLeftWaiting(const Place& place, const Keys& settled, TimeMs now) const {
  return std::ranges::all_of(place.keys, [&](int index) {
    const Key& key = At(index);
    const bool is_settled = std::ranges::count(settled, index) > 0;
    std::vector<engine::Mode> wanted = RoomsOf(key, now, is_settled);
    bool is_ahead = true;
    for (const Place& other : key.line) {
      if (other.owner == place.owner) is_ahead = false;
      // An absent MLOCK may be waiting for a slot on another key, and after a change of limits an
      // absent waiter may not have a reservation yet.
      const bool is_in_the_way = other.state == PlaceState::kWaiting ||
                                 ((other.is_mlock || !is_settled) && other.is_absent());
      if (is_ahead && is_in_the_way && other.state != PlaceState::kPassedOver) return false;
      if (other.state == PlaceState::kKept) wanted.push_back(other.mode);
    }
    return HasRoomBeside(wanted, place.mode, key.limit_override);
  });
}

void Ledger::CheckNobodyIsPassed(const Key& key, std::size_t index, const engine::Mode& mode,
                                 TimeMs now) {
  std::vector<engine::Mode> rooms = RoomsOf(key, now);
  for (std::size_t i = 0; i < index; ++i) {
    const Place& place = key.line[i];
    // No answer shows whether the command changed its owner's place before or after this grant.
    const bool is_own = call_ != nullptr && place.owner == call_->owner;
    if (is_own || (place.is_absent() && IsOver(place.end, now))) continue;
    Require(place.state != PlaceState::kWaiting, "nobody passes in line");
    if (place.state == PlaceState::kKept) rooms.push_back(place.mode);
  }
  Require(HasRoomBeside(rooms, mode, key.limit_override),
          "nobody takes the room of an absent one ahead in line");
}

}  // namespace fairlock::simulation
