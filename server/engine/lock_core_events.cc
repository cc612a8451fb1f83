// Telling what happens.

#include "server/engine/lock_core.h"

namespace fairlock::engine {

EventKind LockCore::EventOf(HoldEnd end) {
  switch (end) {
    case HoldEnd::kReleased:
      return EventKind::kReleased;
    case HoldEnd::kExpired:
      return EventKind::kExpired;
    case HoldEnd::kDisconnected:
      return EventKind::kDisconnected;
    case HoldEnd::kBroken:
      return EventKind::kBroken;
    case HoldEnd::kTransferred:
      return EventKind::kTransferred;
    case HoldEnd::kUndone:
      break;
  }
  return EventKind::kUndone;
}

void LockCore::TellSink(EventKind kind, std::uint64_t hash, const LockEntry& lock, const Hold& hold,
                        TimeMs now, std::string_view other) {
  Event event;
  event.kind = kind;
  event.label = labels_.Text(static_cast<LabelRef>(hold.label));
  event.client = static_cast<ClientRef>(hold.client);
  event.key = lock.key();
  event.key_hash = hash;
  event.owner = OwnerOf(hold);
  event.other = other;
  event.token = hold.token;
  event.at = now;
  event.held_ms = now - static_cast<TimeMs>(hold.since);
  if (hold.is_claim()) {
    const auto& claim = static_cast<const Claim&>(hold);
    if (claim.is_place()) {
      event.held_ms = 0;
      event.waited_ms = now - claim.joined;
    } else if (kind == EventKind::kGranted && claim.arrival != 0) {
      event.waited_ms = now - claim.joined;
    }
  }
  sink_->Take(event);
}

void LockCore::TellQueued(const Claim& place, DenialReason reason, TimeMs now) {
  if (sink_ == nullptr) return;
  Event event;
  event.kind = EventKind::kQueued;
  event.reason = reason;
  event.label = labels_.Text(static_cast<LabelRef>(place.label));
  event.client = static_cast<ClientRef>(place.client);
  event.key = place.lock.key();
  event.key_hash = table_.HashOf(event.key);
  event.owner = place.owner();
  event.at = now;
  sink_->Take(event);
}

LockResult LockCore::Deny(std::uint64_t hash, const LockEntry& lock, const LockRequest& request,
                          ClientRef client, DenialReason reason, TimeMs now) {
  ++counts_.denied;
  ++recent_.Touch(hash).denied;
  if (sink_ != nullptr) {
    Event event;
    event.kind = EventKind::kDenied;
    event.reason = reason;
    event.client = client;
    event.key = request.key;
    event.key_hash = hash;
    event.owner = request.owner;
    if (lock.has_plain_hold()) {
      event.other = lock.plain_owner();
    } else if (lock.detail != nullptr && !lock.detail->holds.empty()) {
      event.other = lock.detail->holds.front().owner();
    }
    event.label = request.label.value_or("");
    event.at = now;
    sink_->Take(event);
  }
  return {LockStatus::kDenied, reason, 0};
}

void LockCore::TellIfVacated(const LockEntry& lock, TimeMs now) {
  if (sink_ == nullptr || lock.has_plain_hold()) return;
  if (lock.detail != nullptr && lock.detail->rooms.taken() > 0) return;
  Event event;
  event.kind = EventKind::kVacated;
  event.key = lock.key();
  event.key_hash = table_.HashOf(event.key);
  event.at = now;
  sink_->Take(event);
}

}  // namespace fairlock::engine
