#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "server/engine/rules/engine_rules.h"
#include "server/engine/state/notify_channel.h"

namespace fairlock::engine {

LockResult RepeatedRequests::Repeat(Claim& place, const LockRequest& request, Attachment& from,
                                    Step step) {
  const Mode asked = request.mode();
  const bool was_reserved = place.is_reserved;
  rules_.wait_queue.Unreserve(place);
  const Claim* blocked = Turns::FindBlocked(state_, place, asked);
  const DenialReason reason =
      blocked != nullptr ? Turns::ReasonFor(state_, blocked->lock, asked) : DenialReason::kNone;
  const bool is_asking_only = rules_.places.WaitOf(request) == 0 && request.keep_ms == 0;
  bool brings_too_much = false;
  ForEachClaim(
      place, [&](Claim& claim) { brings_too_much |= rules_.bounds.BringsTooMuch(claim, request); });
  const bool is_deadlock = blocked != nullptr && rules_.places.WaitOf(request) > 0 &&
                           rules_.deadlocks.IsDeadlockOfPlace(place, asked, step.now);
  if (blocked != nullptr && (is_asking_only || is_deadlock)) {
    // If a place ahead needs a slot, the reservation would only keep it from that place.
    const bool gives_way = was_reserved && Turns::IsAnyoneAhead(blocked->lock, blocked->number);
    if (was_reserved && !gives_way) rules_.wait_queue.Reserve(place);
    const std::uint64_t hash = state_.table.HashOf(blocked->lock.key());
    LockResult denied =
        is_deadlock
            ? rules_.deadlocks.RefuseDeadlock(blocked->lock, request, from.client, step.now)
            : rules_.events.Deny(hash, blocked->lock, request, from.client, reason, step.now);
    denied.key = blocked->rank();
    if (!gives_way) return denied;
    rules_.wait_queue.EnqueueOthers(place);
    rules_.grants.GrantNext(place.lock, step);
    return denied;
  }
  if (brings_too_much) {
    if (was_reserved) rules_.wait_queue.Reserve(place);
    return {LockStatus::kOutOfMemory};
  }
  // SET NX is denied at once, even if the owner has a place.
  if (blocked != nullptr && request.is_redis_way) {
    rules_.events.Deny(state_.table.HashOf(place.lock.key()), place.lock, request, from.client,
                       reason, step.now);
  }
  Supersede(place, request, step);
  const bool was_marked = place.state == ClaimState::kMarked;
  const bool is_asked_alike = HasOptions(place, request) && !was_marked;
  ForEachClaim(place,
               [&](Claim& claim) { Claims::ApplyOptions(state_, claim, request, from.client); });
  if (blocked == nullptr) return GrantPlace(place, request, from, step);
  if (was_marked) rules_.events.EmitQueued(place, reason, step.now);
  rules_.places.AwaitOrKeep(place, request, from, step.now);
  if (!is_asked_alike) rules_.places.LogPlace(place);
  // While the owner was absent, other requests may have begun to wait for its reserved slot, or
  // may have been granted ahead of it.
  rules_.wait_queue.EnqueueOthers(place);
  rules_.grants.GrantNext(place.lock, step);
  return {.status = rules_.places.WaitOf(request) == 0 ? LockStatus::kKept : LockStatus::kQueued,
          .reason = reason,
          .key = blocked->rank()};
}

LockResult RepeatedRequests::GrantPlace(Claim& place, const LockRequest& request, Attachment& from,
                                        Step step) {
  rules_.places.RememberWait(place, request, step.now);
  rules_.places.Grant(place, &from, step.now);
  const Token token = place.token;
  rules_.grants.GrantNext(place.lock, step);
  return {LockStatus::kGranted, DenialReason::kNone, token, state_.table.HashOf(place.lock.key())};
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
  rules_.answers.AnswerPlace(place, {.kind = ResolutionKind::kSuperseded}, step);
}

bool RepeatedRequests::HasOptions(const Claim& place, const LockRequest& request) const {
  return place.mode == request.mode() && place.is_redis_way() == request.is_redis_way &&
         place.keep_ms == request.keep_ms &&
         static_cast<DurationMs>(place.lease_ms) == Claims::LeaseOf(state_, request) &&
         request.terms == TermsOf(place) && request.meta == place.meta() &&
         HasChannel(place, request.notify) &&
         (!request.notify || rules_.places.WaitOf(request) == ChannelWaitOf(place)) &&
         state_.LabelOf(request, place.lock.key().bytes) == state_.labels.Text(place.label);
}

bool RepeatedHolds::Covers(const Mode& held, const Mode& asked) {
  if (held.is_shared) return asked.is_shared;
  return held.limit == 1 || (!asked.is_shared && asked.limit >= held.limit);
}

Hold& RepeatedHolds::Reacquire(std::uint64_t hash, LockEntry& lock, Hold& held,
                               const LockRequest& request, Attachment& from, TimeMs now) {
  const bool brings_options = BringsOptions(held, request);
  const auto recorded_ms = static_cast<DurationMs>(held.lease_ms);
  Hold* hold = &held;
  const bool brings_meta = request.meta && request.meta != MetaOf(held);
  if ((brings_meta || request.terms.session_grace_ms || request.notify) && !hold->is_claim()) {
    hold = &Claims::MovePlainHoldToClaim(state_, lock);
  }
  std::shared_ptr<NotifyChannel> channel_before;  // its session may still be bound to it
  if (request.notify) {
    ClaimExtras& extras = static_cast<Claim*>(hold)->NeedExtras();
    channel_before = std::exchange(extras.channel, state_.channels.Need(*request.notify));
  }
  if (brings_meta) {
    static_cast<Claim*>(hold)->NeedExtras().meta =
        std::make_shared<const std::string>(*request.meta);
  }
  if (request.label) {
    state_.labels.DropUse(hold->label);
    hold->label = state_.labels.Use(*request.label) & kLabelRefMax;
  }
  hold->set_redis_way(false);
  Claims::SetClient(state_, *hold, from.client);
  const TimeMs end_before = Holds::LeaseEndOf(*hold);
  if (hold->is_claim())
    BindSession(static_cast<Claim&>(*hold), channel_before.get(), request, from);
  ProlongByRepeat(lock, *hold, end_before, request, now);
  const bool is_longer = static_cast<DurationMs>(hold->lease_ms) != recorded_ms;
  if (brings_options || is_longer || hold->is_remaining_stored()) state_.LogHold(hash, *hold);
  rules_.events.Emit(EventKind::kReacquired, hash, lock, *hold, now);
  return *hold;
}

// Without SESSION, a session stays as it is. Only if its connection has closed, or if it belongs to
// a channel that the request replaces, the request brings it to another one.
void RepeatedHolds::BindSession(Claim& hold, const Attachment* channel_before,
                                const LockRequest& request, Attachment& from) {
  if (request.terms.session_grace_ms) {
    hold.NeedExtras().terms.session_grace_ms = request.terms.session_grace_ms;
  } else if (!hold.has_session()) {
    return;
  } else if (hold.attachment != nullptr && hold.attachment != &state_.closed &&
             hold.attachment != channel_before) {
    return;
  }
  rules_.holds.Bind(hold, request.notify ? static_cast<Attachment&>(*hold.channel()) : from);
}

void RepeatedHolds::ProlongByRepeat(LockEntry& lock, Hold& hold, TimeMs end_before,
                                    const LockRequest& request, TimeMs now) {
  const DurationMs asked_ms = Claims::LeaseOf(state_, request);
  const TimeMs asked_end = asked_ms == 0 ? kNever : now + asked_ms;
  const TimeMs end = std::max(end_before, asked_end);
  if (!hold.is_claim()) {
    const bool had_end = end_before < kNever;
    if (had_end && asked_ms > static_cast<DurationMs>(hold.lease_ms)) hold.SetLeaseMs(asked_ms);
    state_.wheel.Schedule(hold, end, TimerClass::kLease);
    return;
  }
  auto& claim = static_cast<Claim&>(hold);
  const auto recorded_ms = static_cast<DurationMs>(claim.lease_ms);
  if (end >= kNever) {
    claim.SetLeaseMs(0);
  } else {
    claim.SetLeaseMs(std::max(recorded_ms, asked_ms));
  }
  rules_.holds.SetLeaseEnd(*lock.contended, claim, end);
}

bool RepeatedHolds::BringsOptions(const Hold& hold, const LockRequest& request) const {
  const auto& asked_grace_ms = request.terms.session_grace_ms;
  return hold.is_redis_way() ||
         (asked_grace_ms && asked_grace_ms != TermsOf(hold).session_grace_ms) ||
         (request.meta && request.meta != MetaOf(hold)) ||
         (request.notify && !HasChannel(hold, request.notify)) ||
         (request.label && *request.label != state_.labels.Text(hold.label));
}

}  // namespace fairlock::engine
