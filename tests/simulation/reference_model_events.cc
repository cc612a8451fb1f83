// The reference model: events.

#include "tests/simulation/reference_model.h"

namespace fairlock::simulation {

using engine::EventKind;

ToldEvent ReferenceModel::EventOf(EventKind kind, int key, int owner, Token token) const {
  ToldEvent event;
  event.kind = kind;
  event.key = key;
  event.owner = owner;
  event.token = token;
  event.at = now_;
  return event;
}

ToldEvent ReferenceModel::EventBesideHolder(EventKind kind, int key, int owner) const {
  ToldEvent event = EventOf(kind, key, owner, 0);
  if (At(key).holds.empty()) return event;
  event.other = At(key).holds.front().owner;
  event.other_token = At(key).holds.front().token;
  return event;
}

void ReferenceModel::Tell(EventKind kind, int key, const ModelHold& hold, int other) {
  ToldEvent event = EventOf(kind, key, hold.owner, hold.token);
  event.held_ms = now_ - hold.since;
  event.other = other;
  told_.push_back(event);
}

void ReferenceModel::TellPlace(EventKind kind, const ModelPlace& place, int other) {
  if (place.is_mark) return;
  for (int key : place.keys) {
    ToldEvent event = EventOf(kind, key, place.owner, 0);
    event.waited_ms = now_ - place.since;
    event.other = other;
    told_.push_back(event);
  }
}

void ReferenceModel::TellQueued(const ModelPlace& place, engine::DenialReason reason) {
  for (int key : place.keys) {
    ToldEvent event = EventBesideHolder(EventKind::kQueued, key, place.owner);
    event.reason = static_cast<int>(reason);
    told_.push_back(event);
  }
}

void ReferenceModel::TellDenied(int key, int owner, engine::DenialReason reason) {
  ToldEvent event = EventBesideHolder(EventKind::kDenied, key, owner);
  event.reason = static_cast<int>(reason);
  told_.push_back(event);
}

void ReferenceModel::TellLeaving(int key, const ModelHold& hold, Token token_before) {
  Tell(EventKind::kLeaving, key, hold);
  told_.back().grace_ms = hold.lease_end - now_;
  told_.back().other_token = token_before;
}

void ReferenceModel::TellRefused(int key, int owner) {
  told_.push_back(EventBesideHolder(EventKind::kRefused, key, owner));
}

}  // namespace fairlock::simulation
