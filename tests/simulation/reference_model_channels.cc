// The reference model: NOTIFY (rule 13).

#include <algorithm>

#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

using engine::ResolutionKind;

// With NOTIFY, the answer goes to the channel, and an answer to an MLOCK names the first of its
// keys.
Answer ReferenceModel::AnswerTo(const ModelPlace& place, ResolutionKind kind, Token token, int by) {
  const bool is_told = place.channel != kAbsent;
  return {place.waits_on,
          is_told ? place.keys.front() : place.asked_key,
          kind,
          token,
          by,
          is_told ? place.owner : kAbsent};
}

void ReferenceModel::TellLoss(int key, const ModelHold& hold, engine::EventKind kind,
                              Outcome& outcome) {
  if (hold.channel == kAbsent) return;
  outcome.losses.push_back({hold.channel, key, hold.owner, hold.token, kind});
}

bool ReferenceModel::IsOpen(int channel) const {
  return std::ranges::count(open_channels_, channel) > 0;
}

// The places on the channel in the order of arrival, each of them once.
std::vector<ModelPlace> ReferenceModel::PlacesOf(int channel, bool are_waiting) const {
  std::vector<ModelPlace> places;
  for (const ModelKey& key : keys_) {
    for (const ModelPlace& place : key.line) {
      const bool is_known = std::ranges::any_of(
          places, [&](const ModelPlace& other) { return other.arrival == place.arrival; });
      const bool is_waiting = place.state == PlaceState::kWaiting;
      if (place.channel == channel && is_waiting == are_waiting && !is_known) {
        places.push_back(place);
      }
    }
  }
  std::ranges::sort(places, {}, &ModelPlace::arrival);
  return places;
}

ReferenceModel::Keys ReferenceModel::KeysOf(const std::vector<ModelPlace>& places) {
  Keys keys;
  for (const ModelPlace& place : places) {
    for (int key : place.keys) {
      if (std::ranges::count(keys, key) == 0) keys.push_back(key);
    }
  }
  return keys;
}

// The place waits for what remains of its WAIT, which may have ended while the channel had no
// subscriber.
void ReferenceModel::WaitAgain(const ModelPlace& place, TimeMs now) {
  const TimeMs end = std::max(place.wait_end, now);
  const int owner = place.owner;
  for (int key : Keys(place.keys)) {
    ModelPlace& waiting = At(key).PlaceOf(owner);
    waiting.state = PlaceState::kWaiting;
    waiting.is_reserved = false;
    waiting.end = end;
  }
}

void ReferenceModel::OpenChannel(int channel, TimeMs now, Outcome& outcome) {
  now_ = now;
  EndOverrides(now);
  open_channels_.push_back(channel);
  const std::vector<ModelPlace> absent = PlacesOf(channel, false);
  if (absent.empty()) return;
  const Keys keys = KeysOf(absent);
  // Rule 16: overdue holds and places end first.
  Settle(keys, now, outcome);
  for (const ModelPlace& place : PlacesOf(channel, false)) ReturnToWait(place, now, outcome);
  LookAtAll(keys, now, outcome);
}

// Rule 11 applies, because a wait begins.
void ReferenceModel::ReturnToWait(const ModelPlace& place, TimeMs now, Outcome& outcome) {
  SetReserved(place, false);
  Call call;
  call.operation = place.is_mlock ? Operation::kMlock : Operation::kLock;
  call.key = place.keys.front();
  if (place.is_mlock) call.keys = place.keys;
  call.owner = place.owner;
  call.wait_ms = 1;
  call.is_shared = place.mode.is_shared;
  if (place.mode.is_limit_given) call.limit = place.mode.limit;
  if (FindBlocked(place, place.mode) && IsDeadlock(call, {}, now)) {
    outcome.answers.push_back(AnswerTo(place, ResolutionKind::kDeadlock));
    TellPlace(engine::EventKind::kCancelled, place);
    RemovePlace(place);
    return NoteOthers(place.keys, place.keys.front());
  }
  WaitAgain(place, now);
}

// Rule 6: all of its places become absent before any overdue ones are ended.
void ReferenceModel::CloseChannel(int channel, TimeMs now, Outcome& outcome) {
  now_ = now;
  EndOverrides(now);
  std::erase(open_channels_, channel);
  const std::vector<ModelPlace> waiting = PlacesOf(channel, true);
  const Keys keys = KeysOf(waiting);
  for (const ModelPlace& place : waiting) {
    if (!LoseRequest(place, now)) RemovePlace(place);
  }
  if (!keys.empty()) {
    Settle(keys, now, outcome);
    LookAtAll(keys, now, outcome);
  }
  LoseSessions(ConnectionOfChannel(channel), now, outcome);
}

void ReferenceModel::LookAtAll(const Keys& keys, TimeMs now, Outcome& outcome) {
  for (int key : keys) Note(key);
  LookAgain(keys.front(), now, outcome);
}

}  // namespace fairlock::simulation
