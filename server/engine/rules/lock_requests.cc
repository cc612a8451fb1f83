#include "server/engine/rules/lock_requests.h"

namespace fairlock::engine {

LockResult LockRequests::Lock(const LockRequest& request, Attachment& from, Step step) {
  const std::uint64_t hash = state_.table.HashOf(request.key);
  state_.recent.Prefetch(hash);
  LockEntry* lock = expiry_.FindCurrent(hash, request.key, step);
  if (lock == nullptr) {
    if (limits_.IsDrained(request.key)) return AskDrained(hash, request, from, step);
    return GrantNewLock(hash, request, from, step.now);
  }
  if (Hold* hold = holds_.Find(*lock, request.owner, std::nullopt)) {
    if (request.only_new) {
      return events_.Deny(hash, *lock, request, from.client, DenialReason::kHeld, step.now);
    }
    if (hold->is_leaving()) {
      return events_.Deny(hash, *lock, request, from.client, DenialReason::kLeaving, step.now);
    }
    if (!RepeatedHolds::Covers(ModeOf(*hold), request.mode())) return {LockStatus::kModeDiffers};
    if (bounds_.BringsTooMuch(*hold, request)) return {LockStatus::kOutOfMemory};
    const Hold& held = repeated_holds_.Reacquire(hash, *lock, *hold, request, from, step.now);
    return {LockStatus::kAlready, DenialReason::kNone, held.token, hash};
  }
  if (lock->contended != nullptr) {
    if (Claim* place = state_.table.FindClaim(*lock, request.owner)) {
      if (request.is_redis_way) {
        return value_places_.AskAgain(hash, *place, request, from, step);
      }
      if (place->multi_lock() != nullptr) return {LockStatus::kWaitsByMlock};
      return repeated_requests_.Repeat(*place, request, from, step);
    }
  }
  const LockResult result = AskAnew(hash, *lock, request, from, step);
  // On a drained key, REPLACE may have ended the only place.
  if (IsRefusal(result.status)) claims_.Discard(hash, *lock);
  return result;
}

LockResult LockRequests::GrantNewLock(std::uint64_t hash, const LockRequest& request,
                                      Attachment& from, TimeMs now) {
  if (const auto refusal = bounds_.WhyNoNewLock(from.client)) return {*refusal};
  ++state_.counts.locks;
  ++state_.locks_by_db[request.key.db];
  if (!request.is_plain()) {
    return GrantAtOnce(hash, state_.table.Create(hash, request.key, {}), request, from, now);
  }
  LockEntry& lock = state_.table.Create(
      hash, request.key,
      {.owner = request.owner, .is_limit_given = request.limit.has_value(), .meta = request.meta});
  Hold& hold = lock.plain;
  hold.client = from.client & kClientRefMax;
  state_.clients.AddUse(from.client);
  if (request.label || !state_.label_rules.empty()) {
    hold.label = state_.labels.Use(state_.LabelOf(request, request.key.bytes)) & kLabelRefMax;
  }
  const DurationMs lease_ms = claims_.LeaseOf(request);
  hold.SetLeaseMs(lease_ms);
  hold.set_redis_way(request.is_redis_way);
  holds_.Start(hold, holds_.NextToken(), lease_ms == 0 ? kNever : now + lease_ms, now);
  state_.LogHold(hash, hold);
  events_.Emit(EventKind::kGranted, hash, lock, hold, now);
  return {LockStatus::kGranted, DenialReason::kNone, hold.token, hash};
}

// Handles a request for a drained key that nobody holds or waits for.
LockResult LockRequests::AskDrained(std::uint64_t hash, const LockRequest& request,
                                    Attachment& from, Step step) {
  if (const auto refusal = bounds_.WhyNoNewLocks(1)) return {*refusal};
  ++state_.counts.locks;
  ++state_.locks_by_db[request.key.db];
  LockEntry& lock = state_.table.Create(hash, request.key, {});
  lock.NeedContended();
  const LockResult result = AskAnew(hash, lock, request, from, step);
  claims_.Discard(hash, lock);
  return result;
}

LockResult LockRequests::GrantAtOnce(std::uint64_t hash, LockEntry& lock,
                                     const LockRequest& request, Attachment& from, TimeMs now) {
  Claim& claim = claims_.Create(lock, request, from.client);
  holds_.Add(claim, holds_.NextToken(), &from, now);
  state_.LogHold(hash, claim);
  events_.Emit(EventKind::kGranted, hash, lock, claim, now);
  return {LockStatus::kGranted, DenialReason::kNone, claim.token, hash};
}

LockResult LockRequests::AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                                 Attachment& from, Step step) {
  const Mode asked = request.mode();
  if (turns_.MayPass(lock, asked)) {
    if (const auto refusal = bounds_.WhyNotMore(from.client)) return {*refusal};
    return GrantAtOnce(hash, lock, request, from, step.now);
  }
  if (places_.WaitOf(request) == 0 && request.keep_ms == 0) {
    const LockResult denied =
        events_.Deny(hash, lock, request, from.client, turns_.ReasonFor(lock, asked), step.now);
    if (request.is_redis_way) value_places_.Mark(lock, request, from, step.now);
    return denied;
  }
  const bool is_full = FullQueues::IsFull(lock, request);
  if (is_full && (!request.replaces_newest || lock.active_count() == 0)) {
    return events_.Deny(hash, lock, request, from.client, DenialReason::kFull, step.now);
  }
  if (const auto refusal = bounds_.WhyNotMore(from.client)) return {*refusal};
  const Claim* leaving = is_full ? &FullQueues::NewestOf(lock) : nullptr;
  if (places_.WaitOf(request) > 0 &&
      deadlocks_.IsDeadlockOfNewcomer(lock, request, leaving, step.now)) {
    return deadlocks_.RefuseDeadlock(lock, request, from.client, step.now);
  }
  if (is_full) {
    full_queues_.ReplaceNewest(lock, request.owner, step);
    if (turns_.MayPass(lock, asked)) return GrantAtOnce(hash, lock, request, from, step.now);
    // If an MLOCK was replaced, other requests may have been granted on its other keys, so there
    // may now be a deadlock that did not exist before.
    if (places_.WaitOf(request) > 0 &&
        deadlocks_.IsDeadlockOfNewcomer(lock, request, nullptr, step.now)) {
      return deadlocks_.RefuseDeadlock(lock, request, from.client, step.now);
    }
  }
  if (state_.counts.places + state_.counts.watchers >= state_.options.places_max) {
    return {LockStatus::kTooManyPlaces};
  }
  if (bounds_.IsQueueAtBound(lock, state_.options.places_per_key_max))
    return {LockStatus::kTooManyOnKey};
  const DenialReason reason = turns_.ReasonFor(lock, asked);
  Claim& place = claims_.Create(lock, request, from.client);
  places_.Join(place, request, from, step.now);
  events_.EmitQueued(place, reason, step.now);
  return {places_.WaitOf(request) == 0 ? LockStatus::kKept : LockStatus::kQueued, reason};
}

}  // namespace fairlock::engine
