#include "tests/simulation/ledger.h"

#include <algorithm>

#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::LockStatus;
using engine::ResolutionKind;
using engine::TransferStatus;
using engine::WaitStatus;

namespace {

constexpr std::size_t kTokensRemembered = 16;

void DropOverdue(Ledger::Key& key, TimeMs now) {
  std::erase_if(key.holds, [&](const Ledger::Hold& hold) { return IsOver(hold.end, now); });
}

bool HasToken(const Ledger::Hold& hold, const std::optional<Token>& token) {
  return !token || *token == hold.token;
}

}  // namespace

Ledger::Ledger(const Setting& setting)
    : keys_(setting.keys.size()),
      default_lease_ms_(setting.engine.default_lease_ms),
      newest_token_(setting.engine.first_token - 1),
      recent_tokens_(kTokensRemembered, setting.engine.first_token) {}

void Ledger::Require(bool is_kept, const char* promise) {
  if (!is_kept && broken_ == nullptr) broken_ = promise;
}

// Steps
std::optional<std::string> Ledger::Observe(const Call& call, const Outcome& outcome, TimeMs now) {
  if (call.operation == Operation::kSetDefaultLease) {
    default_lease_ms_ = call.lease_ms.value();
    return std::nullopt;
  }
  call_ = &call;
  outcome_ = &outcome;
  was_cancelled_ = false;
  Key& key = keys_[static_cast<std::size_t>(call.key)];
  DropOverdue(key, now);
  bool is_result_judged = false;
  for (const Answer& answer : outcome.answers) {
    Require(answer.key == call.key, "a command has an effect on another key");
    // What follows from a grant has a higher token than the grant.
    if (!is_result_judged && GivesToken() && answer.token > outcome.token) {
      JudgeResult(now);
      is_result_judged = true;
    }
    Judge(answer, now);
  }
  if (!is_result_judged) JudgeResult(now);
  CheckSettled(key, now);
  return End();
}

std::optional<std::string> Ledger::ObserveAdvance(const Outcome& outcome, bool is_done,
                                                  TimeMs now) {
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
  Require(outcome.answers.empty() || IsWaiting(connection), "who does not wait is not unblocked");
  unblocked_ = connection;
  for (Key& key : keys_) {
    const bool is_its = FindConnection(key.line, connection) != key.line.end() ||
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
  for (Key& key : keys_) {
    std::erase_if(key.watchers,
                  [&](const Watcher& watcher) { return watcher.connection == connection; });
    const auto place = FindConnection(key.line, connection);
    if (place == key.line.end()) continue;
    key.line.erase(place);
    DropOverdue(key, now);
    for (const Answer& answer : outcome.answers) Judge(answer, now);
    CheckSettled(key, now);
  }
  Require(outcome.answers.empty() || IsWaiting(connection), "a lost connection has no effect");
  SetWaiting(connection, false);
  return End();
}

std::optional<std::string> Ledger::End() {
  call_ = nullptr;
  outcome_ = nullptr;
  if (broken_ == nullptr) return std::nullopt;
  return std::string("broken promise: ") + broken_;
}

void Ledger::CheckSettled(const Key& key, TimeMs now) {
  const auto is_over = [&](const auto& waiting) { return IsOver(waiting.give_up, now); };
  Require(std::ranges::none_of(key.line, is_over), "a wait for a lock ends in time");
  Require(std::ranges::none_of(key.watchers, is_over), "a WAIT for a key ends in time");
  for (const Hold& hold : key.holds) {
    Require(key.holds.size() <= hold.limit, "no hold beside more holds than it tolerates");
  }
  for (const Place& place : key.line) {
    Require(place.connection != kAbsent, "a place is answered once it is superseded");
  }
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
  const auto place = FindConnection(key.line, answer.connection);
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
      Require(IsOver(place.give_up, now) || place.connection == unblocked_, "no wait ends early");
      break;
    case ResolutionKind::kCancelled: {
      const bool is_cause = is_own && (call_->operation == Operation::kCancel ||
                                       call_->operation == Operation::kUnlock);
      Require(is_cause, "only CANCEL and UNLOCK cancel");
      was_cancelled_ = true;
      break;
    }
    case ResolutionKind::kSuperseded:
      Require(is_own && call_->operation == Operation::kLock, "only LOCK supersedes");
      place.connection = kAbsent;
      return;
    default:
      Require(false, "LOCK is not answered as WAIT");
  }
  RemoveAt(key.line, index);
}

void Ledger::JudgeGrantAfterWait(const Answer& answer, Key& key, std::size_t index, TimeMs now) {
  const Place place = key.line[index];
  RemoveAt(key.line, index);
  // The new owner of a transfer is told its token; the result counts.
  if (GivesToken() && answer.token == outcome_->token && call_->operation == Operation::kTransfer &&
      place.owner == call_->new_owner) {
    return;
  }
  Require(index == 0, "nobody passes in line");
  AddHold(key, {place.owner, answer.token, place.limit, place.lease_ms, After(now, place.lease_ms)},
          now);
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

void Ledger::AddHold(Key& key, const Hold& hold, TimeMs now) {
  Require(hold.token > newest_token_, "tokens rise over everything");
  newest_token_ = std::max(newest_token_, hold.token);
  recent_tokens_[tokens_given_++ % kTokensRemembered] = hold.token;
  std::size_t count = 1;
  for (const Hold& other : key.holds) {
    if (!IsOver(other.end, now) && !IsLeaving(other)) ++count;
  }
  Require(count <= hold.limit, "no hold is granted where it tolerates no other");
  for (const Hold& other : key.holds) {
    if (IsOver(other.end, now) || IsLeaving(other)) continue;
    Require(other.owner != hold.owner, "an owner holds once");
    Require(count <= other.limit, "no hold is granted beside one that does not tolerate it");
  }
  key.holds.push_back(hold);
}

// Results of commands
void Ledger::JudgeResult(TimeMs now) {
  Key& key = keys_[static_cast<std::size_t>(call_->key)];
  switch (call_->operation) {
    case Operation::kLock:
      return JudgeLock(key, now);
    case Operation::kUnlock:
      return JudgeUnlock(key);
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
  const DurationMs asked_ms = call_->lease_ms.value_or(default_lease_ms_);
  switch (static_cast<LockStatus>(outcome_->status)) {
    case LockStatus::kGranted:
      return JudgeLockGranted(key, now);
    case LockStatus::kQueued:
      return JudgeQueued(key, now);
    case LockStatus::kAlready:
      Require(hold != key.holds.end(), "only who holds is told so");
      if (hold == key.holds.end()) return;
      Require(hold->token == outcome_->token, "a repeated LOCK gives the same token");
      hold->end = std::max(hold->end, After(now, asked_ms));
      hold->lease_ms = std::max(hold->lease_ms, asked_ms);
      return;
    case LockStatus::kDenied:
      Require(!key.holds.empty(), "nobody is denied a key that is free");
      return;
    case LockStatus::kLimitDiffers:
      Require(hold != key.holds.end(), "only a holder's LIMIT can differ");
      return;
    default:
      return;
  }
}

void Ledger::JudgeLockGranted(Key& key, TimeMs now) {
  Require(FindOwner(key.holds, call_->owner) == key.holds.end(), "an owner holds once");
  if (!key.line.empty()) {
    Require(key.line.front().owner == call_->owner, "a newcomer does not pass those who wait");
    Require(key.line.front().connection == kAbsent, "an earlier request is answered");
    key.line.erase(key.line.begin());
  }
  const DurationMs lease_ms = call_->lease_ms.value_or(default_lease_ms_);
  const std::uint32_t limit = call_->limit.value_or(1);
  AddHold(key, {call_->owner, outcome_->token, limit, lease_ms, After(now, lease_ms)}, now);
}

void Ledger::JudgeQueued(Key& key, TimeMs now) {
  Require(!key.holds.empty(), "nobody waits for a key that is free");
  Require(call_->wait_ms > 0, "only who gave WAIT waits");
  const DurationMs lease_ms = call_->lease_ms.value_or(default_lease_ms_);
  const Place place{call_->owner, call_->connection, call_->limit.value_or(1), lease_ms,
                    After(now, call_->wait_ms)};
  const auto earlier = FindOwner(key.line, call_->owner);
  if (earlier == key.line.end()) {
    key.line.push_back(place);
  } else {
    Require(earlier->connection == kAbsent, "an earlier request is answered");
    *earlier = place;
  }
  SetWaiting(call_->connection, true);
}

void Ledger::JudgeUnlock(Key& key) {
  const auto hold = FindOwner(key.holds, call_->owner);
  const bool held = hold != key.holds.end() && HasToken(*hold, call_->token);
  Require(held == (outcome_->number == 1), "UNLOCK releases for who holds, and for nobody else");
  if (held) key.holds.erase(hold);
  const bool has_place = FindOwner(key.line, call_->owner) != key.line.end();
  Require(call_->token || !has_place, "without TOKEN the place goes too");
}

void Ledger::JudgeRenew(Key& key, TimeMs now) {
  const auto hold = FindOwner(key.holds, call_->owner);
  const bool held = hold != key.holds.end() && HasToken(*hold, call_->token);
  Require(held == (outcome_->number == 1), "RENEW renews for who holds, and for nobody else");
  if (!held) return;
  if (call_->lease_ms) hold->lease_ms = *call_->lease_ms;
  hold->end = After(now, hold->lease_ms);
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
  if (call_->lease_ms) {
    hold.lease_ms = *call_->lease_ms;
    hold.end = After(now, *call_->lease_ms);
  }
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
      const auto position = place == key.line.end() ? kAbsent : place - key.line.begin() + 1;
      Require(outcome_->number == (holds ? 0 : position), "POSITION is the order of arrival");
      return;
    }
    default:
      return;
  }
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
  TimeMs next = engine::kNever;
  for (const Key& key : keys_) {
    for (const Hold& hold : key.holds) next = std::min(next, hold.end);
    for (const Place& place : key.line) next = std::min(next, place.give_up);
    for (const Watcher& watcher : key.watchers) next = std::min(next, watcher.give_up);
  }
  return next;
}

Token Ledger::EarlierToken(std::size_t back) const {
  return recent_tokens_[back % kTokensRemembered];
}

}  // namespace fairlock::simulation
