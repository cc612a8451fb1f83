#include "server/engine/rules/value_places.h"

namespace fairlock::engine {

// SET NX does not grant a value whose LOCK is waiting, or that has a place of an MLOCK. If SET NX
// created the place, each further SET NX prolongs it.
LockResult ValuePlaces::AskAgain(std::uint64_t hash, Claim& place, const LockRequest& request,
                                 Attachment& from, Step step) {
  if (place.state == ClaimState::kWaiting || place.multi_lock() != nullptr) {
    const DenialReason reason = turns_.ReasonFor(place.lock, request.mode());
    return events_.Deny(hash, place.lock, request, from.client, reason, step.now);
  }
  LockRequest asked = request;
  if (request.takes_place && place.is_redis_way()) {
    asked.keep_ms = KeepOfValues(request.key.bytes);
  }
  return repeated_requests_.Repeat(place, asked, from, step);
}

// Marks may use at most half of the permitted places, so that values that never return leave room
// for waiters.
void ValuePlaces::Mark(LockEntry& lock, const LockRequest& request, const Attachment& from,
                       TimeMs now) {
  if (!request.takes_place) return;
  const DurationMs keep_ms = KeepOfValues(request.key.bytes);
  const std::uint64_t places = state_.counts.places + state_.counts.watchers;
  const bool is_half_full = places >= state_.options.places_max / 2 ||
                            bounds_.IsQueueAtBound(lock, state_.options.places_per_key_max / 2);
  if (keep_ms == 0 || is_half_full || bounds_.WhyNotMore(from.client)) return;
  LockRequest asked = request;
  asked.keep_ms = keep_ms;
  lock.NeedContended();
  places_.Mark(claims_.Create(lock, asked, from.client), now);
}

}  // namespace fairlock::engine
