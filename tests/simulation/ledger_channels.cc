// The ledger: messages on the channels of NOTIFY.

#include <algorithm>

#include "tests/simulation/ledger.h"
#include "tests/simulation/lists.h"

namespace fairlock::simulation {

using engine::EventKind;
using engine::ResolutionKind;

// Several requests may wait on one channel, so the answer names the owner.
void Ledger::JudgeOnChannel(const Answer& answer, TimeMs now) {
  auto& line = At(answer.key).line;
  const auto found = FindOwner(line, answer.owner);
  const bool is_there = found != line.end() && found->connection == answer.connection;
  const bool is_back = is_there && found->is_absent() && !IsOver(found->end, now) &&
                       std::ranges::count(returned_, found->channel) > 0;
  Require(is_there && (found->state == PlaceState::kWaiting || is_back),
          "only who waits on a channel is answered there, and once");
  if (broken_ != nullptr) return;
  const Place place = *found;
  if (answer.kind != ResolutionKind::kDeadlock) return JudgePlaceAnswer(answer, place, now);
  Require(is_back, "only a wait that begins again is in a deadlock");
  RemovePlace(place);
}

// Whether the place's answers go to the same channel as those of the judged request.
bool Ledger::IsSameChannel(const Place& place) const {
  return call_ != nullptr && call_->channel != kAbsent && call_->channel == place.channel;
}

// An answer for an earlier place of the owner may arrive on the same channel, but then that place
// has ended. Answers for other keys may arrive there, too.
bool Ledger::IsGrantOfNewPlace(const Answer& answer) const {
  const std::vector<int> named = call_->named();
  return answer.owner == call_->owner && std::ranges::count(named, answer.key) > 0 &&
         answer.kind == ResolutionKind::kGranted &&
         outcome_->status == static_cast<int>(engine::LockStatus::kQueued);
}

void Ledger::WaitAgain(Place& place, TimeMs now) const {
  place.state = PlaceState::kWaiting;
  place.end = std::max(place.wait_end, now);
}

std::optional<std::string> Ledger::ObserveOpen(int channel, const Outcome& outcome, TimeMs now) {
  outcome_ = &outcome;
  EndOverrides(now);
  open_channels_.push_back(channel);
  Keys touched;
  const auto is_returning = [&](const Place& place) {
    return place.channel == channel && place.is_absent() && !IsOver(place.end, now);
  };
  for (int key = 0; key < static_cast<int>(keys_.size()); ++key) {
    const bool is_touched = std::ranges::any_of(At(key).line, [&](const Place& place) {
      return place.channel == channel && place.is_absent();
    });
    if (is_touched) touched.push_back(key);
  }
  Require(outcome.answers.empty() || !touched.empty(),
          "a subscriber for whom nobody waits has no effect");
  touched = DropOverdueOn(touched, now);
  returned_ = {channel};
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  returned_.clear();
  for (Key& key : keys_) {
    for (Place& place : key.line) {
      if (is_returning(place)) WaitAgain(place, now);
    }
  }
  CheckSettled(touched, now);
  return End(now);
}

std::optional<std::string> Ledger::ObserveClose(int channel, const Outcome& outcome, TimeMs now) {
  outcome_ = &outcome;
  EndOverrides(now);
  std::erase(open_channels_, channel);
  Keys touched;
  for (int index = 0; index < static_cast<int>(keys_.size()); ++index) {
    std::vector<Place>& line = At(index).line;
    const auto is_lost = [&](const Place& place) {
      return place.channel == channel && place.state == PlaceState::kWaiting;
    };
    if (std::ranges::any_of(line, is_lost)) touched.push_back(index);
    std::erase_if(line, [&](Place& place) { return is_lost(place) && !LoseRequest(place, now); });
  }
  LoseSessionsOf(ConnectionOfChannel(channel), now, touched);
  Require(outcome.answers.empty() || !touched.empty(),
          "a lost subscriber for whom nobody waits has no effect");
  touched = DropOverdueOn(touched, now);
  for (const Answer& answer : outcome.answers) Judge(answer, now);
  CheckSettled(touched, now);
  return End(now);
}

// Whether the hold may end without an announcement: its owner ended it, or was never told of it.
bool Ledger::MayEndUntold(const Hold& hold) const {
  if (hold.token == undone_ && hold.arrival != 0) return true;
  if (asked_ == nullptr || asked_->owner != hold.owner) return false;
  return asked_->operation == Operation::kUnlock || asked_->operation == Operation::kMunlock ||
         asked_->is_mlock();
}

void Ledger::JudgeLoss(const Loss& loss, TimeMs now) {
  const auto known = std::ranges::find_if(notified_, [&](const NotifiedHold& one) {
    return one.key == loss.key && one.hold.token == loss.token;
  });
  if (known == notified_.end()) {
    // The hold was granted in the same step.
    return Require(loss.token > newest_before_, "only of a hold with NOTIFY the loss is told");
  }
  const Hold& hold = known->hold;
  Require(hold.owner == loss.owner && hold.channel == loss.channel,
          "a loss is told on the channel of the hold");
  const bool is_asked = asked_ != nullptr;
  const bool is_write = is_asked && asked_->operation == Operation::kSet;
  switch (loss.kind) {
    case EventKind::kBroken:
      return Require((hold.has_notice && IsOver(hold.end, now)) ||
                         (is_asked && (asked_->operation == Operation::kBreak || is_write)),
                     "only BREAK and a takeover break");
    case EventKind::kTransferred:
      return Require(is_asked && (asked_->operation == Operation::kTransfer || is_write),
                     "only TRANSFER and a takeover transfer");
    case EventKind::kReleased:
      return Require(is_asked && IsRedis(asked_->operation) && !is_write,
                     "a release is a loss only by key");
    case EventKind::kUndone:
      return Require(undone_ == loss.token, "only who did not read its grant has it undone");
    case EventKind::kExpired:
      return Require((IsOver(hold.end, now) && !hold.has_notice) || (is_write && asked_->is_over()),
                     "a lease that is lost is over");
    default:
      return Require(loss.kind == EventKind::kDisconnected && hold.session_grace_ms.has_value(),
                     "only a session is lost with its connection");
  }
}

void Ledger::JudgeLosses(TimeMs now) {
  static const std::vector<Loss> kNoLosses;
  const std::vector<Loss>& losses = outcome_ == nullptr ? kNoLosses : outcome_->losses;
  for (const Loss& loss : losses) {
    JudgeLoss(loss, now);
    Require(std::ranges::count_if(losses,
                                  [&](const Loss& other) {
                                    return other.key == loss.key && other.token == loss.token;
                                  }) == 1,
            "a loss is told once");
    Require(std::ranges::none_of(At(loss.key).holds,
                                 [&](const Hold& hold) { return hold.token == loss.token; }),
            "what is told to be lost is not held");
  }
  for (const NotifiedHold& before : notified_) {
    const bool is_held = std::ranges::any_of(
        At(before.key).holds, [&](const Hold& hold) { return hold.token == before.hold.token; });
    const bool is_told = std::ranges::any_of(losses, [&](const Loss& loss) {
      return loss.key == before.key && loss.token == before.hold.token;
    });
    Require(is_held || is_told || MayEndUntold(before.hold), "the loss of a hold is told");
  }
  notified_.clear();
  for (int key = 0; key < static_cast<int>(keys_.size()); ++key) {
    for (const Hold& hold : At(key).holds) {
      if (hold.channel != kAbsent) notified_.push_back({key, hold});
    }
  }
  newest_before_ = newest_token_;
}

}  // namespace fairlock::simulation
