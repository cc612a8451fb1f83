#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

LockResult LockRequests::Lock(const LockRequest& request, Attachment& from, Step step) {
  const std::uint64_t hash = state_.table.HashOf(request.key);
  state_.recent.Prefetch(hash);
  LockEntry* lock = rules_.expiry.FindCurrent(hash, request.key, step);
  if (lock == nullptr) {
    if (Limits::IsDrained(state_, request.key)) return AskDrained(hash, request, from, step);
    return GrantNewLock(hash, request, from, step.now);
  }
  if (Hold* hold = rules_.holds.Find(*lock, request.owner, std::nullopt)) {
    if (request.only_new) {
      return rules_.events.Deny(hash, *lock, request, from.client, DenialReason::kHeld, step.now);
    }
    if (hold->is_leaving()) {
      return rules_.events.Deny(hash, *lock, request, from.client, DenialReason::kLeaving,
                                step.now);
    }
    if (!RepeatedHolds::Covers(ModeOf(*hold), request.mode())) return {LockStatus::kModeDiffers};
    if (rules_.bounds.BringsTooMuch(*hold, request)) return {LockStatus::kOutOfMemory};
    const Hold& held = rules_.repeated_holds.Reacquire(hash, *lock, *hold, request, from, step.now);
    return {LockStatus::kAlready, DenialReason::kNone, held.token, hash};
  }
  if (lock->contended != nullptr) {
    if (Claim* place = state_.table.FindClaim(*lock, request.owner)) {
      if (request.is_redis_way) {
        return rules_.value_places.AskAgain(hash, *place, request, from, step);
      }
      if (place->multi_lock() != nullptr) return {LockStatus::kWaitsByMlock};
      return rules_.repeated_requests.Repeat(*place, request, from, step);
    }
  }
  const LockResult result = AskAnew(hash, *lock, request, from, step);
  // On a drained key, REPLACE may have ended the only place.
  if (IsRefusal(result.status)) Claims::Discard(state_, hash, *lock);
  return result;
}

LockResult LockRequests::GrantNewLock(std::uint64_t hash, const LockRequest& request,
                                      Attachment& from, TimeMs now) {
  if (const auto refusal = rules_.bounds.WhyNoNewLock(from.client)) return {*refusal};
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
  const DurationMs lease_ms = Claims::LeaseOf(state_, request);
  hold.SetLeaseMs(lease_ms);
  hold.set_redis_way(request.is_redis_way);
  rules_.holds.Start(hold, rules_.holds.NextToken(), lease_ms == 0 ? kNever : now + lease_ms, now);
  state_.LogHold(hash, hold);
  rules_.events.Emit(EventKind::kGranted, hash, lock, hold, now);
  return {LockStatus::kGranted, DenialReason::kNone, hold.token, hash};
}

// Handles a request for a drained key that nobody holds or waits for.
LockResult LockRequests::AskDrained(std::uint64_t hash, const LockRequest& request,
                                    Attachment& from, Step step) {
  if (const auto refusal = rules_.bounds.WhyNoNewLocks(1)) return {*refusal};
  ++state_.counts.locks;
  ++state_.locks_by_db[request.key.db];
  LockEntry& lock = state_.table.Create(hash, request.key, {});
  lock.NeedContended();
  const LockResult result = AskAnew(hash, lock, request, from, step);
  Claims::Discard(state_, hash, lock);
  return result;
}

LockResult LockRequests::GrantAtOnce(std::uint64_t hash, LockEntry& lock,
                                     const LockRequest& request, Attachment& from, TimeMs now) {
  Claim& claim = Claims::Create(state_, lock, request, from.client);
  rules_.holds.Add(claim, rules_.holds.NextToken(), &from, now);
  state_.LogHold(hash, claim);
  rules_.events.Emit(EventKind::kGranted, hash, lock, claim, now);
  return {LockStatus::kGranted, DenialReason::kNone, claim.token, hash};
}

LockResult LockRequests::AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                                 Attachment& from, Step step) {
  const Mode asked = request.mode();
  if (Turns::MayPass(state_, lock, asked)) {
    if (const auto refusal = rules_.bounds.WhyNotMore(from.client)) return {*refusal};
    return GrantAtOnce(hash, lock, request, from, step.now);
  }
  if (rules_.places.WaitOf(request) == 0 && request.keep_ms == 0) {
    const LockResult denied = rules_.events.Deny(hash, lock, request, from.client,
                                                 Turns::ReasonFor(state_, lock, asked), step.now);
    if (request.is_redis_way) rules_.value_places.Mark(lock, request, from, step.now);
    return denied;
  }
  const bool is_full = FullQueues::IsFull(lock, request);
  if (is_full && (!request.replaces_newest || lock.active_count() == 0)) {
    return rules_.events.Deny(hash, lock, request, from.client, DenialReason::kFull, step.now);
  }
  if (const auto refusal = rules_.bounds.WhyNotMore(from.client)) return {*refusal};
  const Claim* leaving = is_full ? &FullQueues::NewestOf(lock) : nullptr;
  if (rules_.places.WaitOf(request) > 0 &&
      rules_.deadlocks.IsDeadlockOfNewcomer(lock, request, leaving, step.now)) {
    return rules_.deadlocks.RefuseDeadlock(lock, request, from.client, step.now);
  }
  if (is_full) {
    rules_.full_queues.ReplaceNewest(lock, request.owner, step);
    if (Turns::MayPass(state_, lock, asked))
      return GrantAtOnce(hash, lock, request, from, step.now);
    // If an MLOCK was replaced, other requests may have been granted on its other keys, so there
    // may now be a deadlock that did not exist before.
    if (rules_.places.WaitOf(request) > 0 &&
        rules_.deadlocks.IsDeadlockOfNewcomer(lock, request, nullptr, step.now)) {
      return rules_.deadlocks.RefuseDeadlock(lock, request, from.client, step.now);
    }
  }
  if (state_.counts.places + state_.counts.watchers >= state_.options.places_max) {
    return {LockStatus::kTooManyPlaces};
  }
  if (rules_.bounds.IsQueueAtBound(lock, state_.options.places_per_key_max))
    return {LockStatus::kTooManyOnKey};
  const DenialReason reason = Turns::ReasonFor(state_, lock, asked);
  Claim& place = Claims::Create(state_, lock, request, from.client);
  rules_.places.Join(place, request, from, step.now);
  rules_.events.EmitQueued(place, reason, step.now);
  return {rules_.places.WaitOf(request) == 0 ? LockStatus::kKept : LockStatus::kQueued, reason};
}

bool FullQueues::IsFull(const LockEntry& lock, const LockRequest& request) {
  return request.waiters_max && lock.active_count() >= *request.waiters_max;
}

Claim& FullQueues::NewestOf(LockEntry& lock) { return lock.contended->active.back(); }

void FullQueues::ReplaceNewest(LockEntry& lock, std::string_view by, Step step) {
  Claim& newest = NewestOf(lock);
  rules_.answers.AnswerPlace(
      newest, {.kind = ResolutionKind::kReplaced, .by = rules_.grants.OutlivingTransaction(by)},
      step);
  rules_.events.EmitPlace(EventKind::kReplaced, newest, step.now, by);
  rules_.wait_queue.Remove(newest, Cause::kRequest);
  rules_.grants.GrantNext(lock, step);
}

}  // namespace fairlock::engine
