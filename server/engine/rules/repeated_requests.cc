#include "server/engine/rules/repeated_requests.h"

#include "server/engine/state/claim_options.h"

namespace fairlock::engine {

LockResult RepeatedRequests::Repeat(Claim& place, const LockRequest& request, Attachment& from,
                                    Step step) {
  const Mode asked = request.mode();
  const bool was_reserved = place.is_reserved;
  wait_queue_.Unreserve(place);
  const Claim* blocked = turns_.FindBlocked(place, asked);
  const DenialReason reason =
      blocked != nullptr ? turns_.ReasonFor(blocked->lock, asked) : DenialReason::kNone;
  const bool is_asking_only = places_.WaitOf(request) == 0 && request.keep_ms == 0;
  bool brings_too_much = false;
  ForEachClaim(place,
               [&](Claim& claim) { brings_too_much |= bounds_.BringsTooMuch(claim, request); });
  const bool is_deadlock = blocked != nullptr && places_.WaitOf(request) > 0 &&
                           deadlocks_.IsDeadlockOfPlace(place, asked, step.now);
  if (blocked != nullptr && (is_asking_only || is_deadlock)) {
    // If a place ahead needs a slot, the reservation would only keep it from that place.
    const bool gives_way = was_reserved && turns_.IsAnyoneAhead(blocked->lock, blocked->number);
    if (was_reserved && !gives_way) wait_queue_.Reserve(place);
    const std::uint64_t hash = state_.table.HashOf(blocked->lock.key());
    LockResult denied =
        is_deadlock ? deadlocks_.RefuseDeadlock(blocked->lock, request, from.client, step.now)
                    : events_.Deny(hash, blocked->lock, request, from.client, reason, step.now);
    denied.key = blocked->rank();
    if (!gives_way) return denied;
    wait_queue_.EnqueueOthers(place);
    grants_.GrantNext(place.lock, step);
    return denied;
  }
  if (brings_too_much) {
    if (was_reserved) wait_queue_.Reserve(place);
    return {LockStatus::kOutOfMemory};
  }
  // SET NX is denied at once, even if the owner has a place.
  if (blocked != nullptr && request.is_redis_way) {
    events_.Deny(state_.table.HashOf(place.lock.key()), place.lock, request, from.client, reason,
                 step.now);
  }
  Supersede(place, request, step);
  const bool was_marked = place.state == ClaimState::kMarked;
  const bool is_asked_alike = HasOptions(place, request) && !was_marked;
  ForEachClaim(place, [&](Claim& claim) { claims_.ApplyOptions(claim, request, from.client); });
  if (blocked == nullptr) {
    places_.RememberWait(place, request, step.now);
    places_.Grant(place, &from, step.now);
    const Token token = place.token;
    grants_.GrantNext(place.lock, step);
    return {LockStatus::kGranted, DenialReason::kNone, token,
            state_.table.HashOf(place.lock.key())};
  }
  if (was_marked) events_.EmitQueued(place, reason, step.now);
  places_.AwaitOrKeep(place, request, from, step.now);
  if (!is_asked_alike) places_.LogPlace(place);
  // While the owner was absent, other requests may have begun to wait for its reserved slot, or
  // may have been granted ahead of it.
  wait_queue_.EnqueueOthers(place);
  grants_.GrantNext(place.lock, step);
  return {.status = places_.WaitOf(request) == 0 ? LockStatus::kKept : LockStatus::kQueued,
          .reason = reason,
          .key = blocked->rank()};
}

// If the later request uses the same channel, that still receives the outcome, so the earlier
// request gets no notice.
void RepeatedRequests::Supersede(Claim& place, const LockRequest& request, Step step) {
  WaitQueue::LeaveAbsent(place);
  Pending& pending = RequestOf(place);
  NotifyChannel* channel = place.channel();
  const bool is_same_channel = channel != nullptr && request.notify == channel->name;
  if (is_same_channel && pending.attachment != nullptr) {
    channel->pending.erase(channel->pending.iterator_to(pending));
    pending.attachment = nullptr;
    return;
  }
  answers_.AnswerPlace(place, {.kind = ResolutionKind::kSuperseded}, step);
}

bool RepeatedRequests::HasOptions(const Claim& place, const LockRequest& request) const {
  return place.mode == request.mode() && place.is_redis_way() == request.is_redis_way &&
         place.keep_ms == request.keep_ms &&
         static_cast<DurationMs>(place.lease_ms) == claims_.LeaseOf(request) &&
         request.terms == TermsOf(place) && request.meta == place.meta() &&
         HasChannel(place, request.notify) &&
         (!request.notify || places_.WaitOf(request) == ChannelWaitOf(place)) &&
         state_.LabelOf(request, place.lock.key().bytes) == state_.labels.Text(place.label);
}

}  // namespace fairlock::engine
