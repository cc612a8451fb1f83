// The ledger: answers to waiting requests.

#include <algorithm>

#include "tests/simulation/ledger.h"
#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::ResolutionKind;

void Ledger::Judge(const Answer& answer, TimeMs now) {
  if (IsChannel(answer.connection)) return JudgeOnChannel(answer, now);
  Require(IsWaiting(answer.connection), "only who waits is answered, and once");
  if (broken_ != nullptr) return;
  SetWaiting(answer.connection, false);
  Key& key = At(answer.key);
  const auto place = FindWaiting(key.line, answer.connection);
  if (place != key.line.end()) return JudgePlaceAnswer(answer, Place(*place), now);
  const auto watcher = FindConnection(key.watchers, answer.connection);
  Require(watcher != key.watchers.end(), "an answer belongs to the key of its request");
  if (watcher == key.watchers.end()) return;
  JudgeWatcherAnswer(answer, key, static_cast<std::size_t>(watcher - key.watchers.begin()), now);
}

void Ledger::JudgePlaceAnswer(const Answer& answer, const Place& place, TimeMs now) {
  switch (answer.kind) {
    case ResolutionKind::kGranted:
      return JudgeGrantAfterWait(answer, place, now);
    case ResolutionKind::kTimedOut:
      return JudgeTimeOut(place, now);
    case ResolutionKind::kCancelled:
      Require(IsCancelled(place), "only CANCEL and UNLOCK cancel, and TRANSFER an MLOCK");
      was_cancelled_ = true;
      return RemovePlace(place);
    case ResolutionKind::kSuperseded: {
      const bool is_asking =
          call_ != nullptr && call_->owner == place.owner &&
          call_->operation == (place.is_mlock ? Operation::kMlock : Operation::kLock);
      Require(is_asking, "only the same request again supersedes");
      Require(!is_asking || !IsSameChannel(place), "no channel is told that it supersedes itself");
      for (int key : place.keys) {
        FindOwner(At(key).line, place.owner)->state = PlaceState::kSuperseded;
      }
      return;
    }
    case ResolutionKind::kReplaced:
      JudgeReplaced(answer, place);
      return RemovePlace(place);
    default:
      Require(false, "LOCK is not answered as WAIT");
  }
}

void Ledger::JudgeTimeOut(const Place& place, TimeMs now) {
  Require(IsOver(place.end, now) || place.connection == unblocked_, "no wait ends early");
  if (place.keep_ms == 0 || place.channel != kAbsent) return RemovePlace(place);
  for (int key : place.keys) {
    Place& kept = *FindOwner(At(key).line, place.owner);
    kept.state = PlaceState::kKept;
    kept.end = After(now, place.keep_ms);
  }
  if (call_ != nullptr) ForgetAbsent();
}

bool Ledger::IsCancelled(const Place& place) const {
  if (call_ == nullptr || std::ranges::count(place.keys, call_->key) == 0) {
    const bool is_named = call_ != nullptr && call_->operation == Operation::kMunlock &&
                          std::ranges::any_of(call_->keys, [&](int key) {
                            return std::ranges::count(place.keys, key) > 0;
                          });
    return is_named && call_->owner == place.owner;
  }
  switch (call_->operation) {
    case Operation::kCancel:
    case Operation::kUnlock:
    case Operation::kMunlock:
      return call_->owner == place.owner;
    case Operation::kTransfer:
      return place.is_mlock && call_->new_owner == place.owner && GivesToken();
    case Operation::kSet:
      return place.is_mlock && call_->owner == place.owner && IsTakeover();
    default:
      return false;
  }
}

void Ledger::JudgeReplaced(const Answer& answer, const Place& place) {
  Require(
      call_ != nullptr && call_->waiters_max && call_->replaces_newest && answer.by == call_->owner,
      "only REPLACE replaces");
  if (broken_ != nullptr) return;
  const bool is_newest = std::ranges::any_of(call_->named(), [&](int key) {
    const std::vector<Place>& line = At(key).line;
    const auto at = FindOwner(line, place.owner);
    return at != line.end() && std::none_of(at + 1, line.end(), [](const Place& other) {
             return other.state == PlaceState::kWaiting;
           });
  });
  Require(is_newest, "REPLACE ends the newest place");
}

void Ledger::JudgeGrantAfterWait(const Answer& answer, const Place& place, TimeMs now) {
  // The new owner in a transfer may also get its token in an answer; what counts is the command's
  // result.
  const bool is_transfer =
      GivesToken() && call_->operation == Operation::kTransfer && place.owner == call_->new_owner;
  const bool is_takeover = IsTakeover() && place.owner == call_->owner;
  if ((is_transfer || is_takeover) && answer.token == outcome_->token) {
    Require(!place.is_mlock, "an MLOCK never holds a part");
    was_heir_answered_ = true;
    heir_channel_ = place.channel;
    heir_client_ = place.client;
    return RemovePlace(place);
  }
  Require(may_hand_over_, "what a step frees is handed over in its end");
  for (int key : place.keys) {
    const auto& line = At(key).line;
    const auto index = static_cast<std::size_t>(FindOwner(line, place.owner) - line.begin());
    CheckNobodyIsPassed(At(key), index, place.mode, now);
  }
  RemovePlace(place);
  NoteToken(answer.token);
  for (int key : place.keys) AddHold(key, HoldFor(place, answer.token, now), now);
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
    return hold.token <= watcher.newest_token && !IsOver(hold.end, now) && !hold.is_leaving;
  });
  Require(is_over, "WAIT is not answered while a hold of its time remains");
  Require(may_hand_over_, "a WAIT is answered in the end of a step");
}

}  // namespace fairlock::simulation
