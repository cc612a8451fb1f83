// Places of those who know only SET NX: a value that asks again and again is an owner who waits.

#include "server/engine/lock_engine.h"

namespace fairlock::engine {

// A value gets its turn by SET NX only where it waits by nothing else, and has the place prolonged
// that SET NX has made.
LockResult LockEngine::AskAgainByValue(std::uint64_t hash, Claim& place, const LockRequest& request,
                                       Attachment& from, TimeMs now, Effects& effects) {
  if (place.state == ClaimState::kWaiting || place.group() != nullptr) {
    const DenialReason reason = ReasonFor(place.lock, request.mode());
    return Deny(hash, place.lock, request, from.client, reason, now);
  }
  LockRequest asked = request;
  if (request.takes_place && place.is_redis_way()) {
    asked.keep_ms = KeepOfValues(request.key.bytes);
  }
  return RepeatWaiting(place, asked, from, now, effects);
}

// Values that never ask again leave the other half of the places to those who wait.
void LockEngine::MarkValue(LockEntry& lock, const LockRequest& request, const Attachment& from,
                           TimeMs now) {
  if (!request.takes_place) return;
  const DurationMs keep_ms = KeepOfValues(request.key.bytes);
  const std::uint64_t places = counts_.places + counts_.watchers;
  const bool is_half_full =
      places >= options_.places_max / 2 || IsLineAtBound(lock, options_.places_per_key_max / 2);
  if (keep_ms == 0 || is_half_full || WhyNotMore(from.client)) return;
  LockRequest asked = request;
  asked.keep_ms = keep_ms;
  lock.NeedDetail();
  Mark(CreateClaim(lock, asked, from.client), now);
}

}  // namespace fairlock::engine
