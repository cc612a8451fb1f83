#include <algorithm>
#include <cassert>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

void Places::Join(Claim& place, const LockRequest& request, Attachment& from, TimeMs now) {
  rules_.wait_queue.Enter(place, now);
  AwaitOrKeep(place, request, from, now);
  LogPlace(place);
}

void Places::LogPlace(Claim& place) {
  if (state_.changes == nullptr) return;
  Claim& first = FirstClaim(place);
  const bool outlives_restart =
      (first.keep_ms > 0 || state_.options.stores_all_places) && first.state != ClaimState::kMarked;
  if (!outlives_restart && !first.is_stored) return;
  state_.changes->NotePlace(state_.table.HashOf(first.lock.key()), first.arrival, first.owner());
}

void Places::AwaitOrKeep(Claim& place, const LockRequest& request, Attachment& from, TimeMs now) {
  if (WaitOf(request) == 0) {
    Keep(place, now);
    return;
  }
  const TimeMs end = WaitEndOf(request, now);
  NotifyChannel* channel = place.channel();
  if (channel == nullptr) return Await(place, from, end);
  assert(channel->is_open);
  RememberWait(place, request, now);
  Await(place, *channel, end);
}

TimeMs Places::WaitEndOf(const LockRequest& request, TimeMs now) const {
  return std::min(now + WaitOf(request), kNever);
}

void Places::RememberWait(Claim& place, const LockRequest& request, TimeMs now) {
  if (place.channel() == nullptr) return;
  ClaimExtras& extras = *FirstClaim(place).extras;
  extras.wait_ms = WaitOf(request);
  extras.wait_end = WaitEndOf(request, now);
}

void Places::Await(Claim& place, Attachment& on, TimeMs end) {
  ForEachClaim(place, [&](Claim& claim) {
    rules_.wait_queue.Activate(claim);
    claim.SetState(ClaimState::kWaiting);
  });
  Claim& first = FirstClaim(place);
  if (!WaitingRequests::Has(first)) state_.waiting.Insert(first);
  Pending& pending = RequestOf(place);
  pending.attachment = &on;
  on.pending.push_back(pending);
  rules_.wait_queue.Schedule(place, end, TimerClass::kWait);
}

void Places::Keep(Claim& place, TimeMs now) {
  rules_.wait_queue.ForgetWaiting(FirstClaim(place));
  ForEachClaim(place, [&](Claim& claim) {
    rules_.wait_queue.Activate(claim);
    claim.SetState(ClaimState::kKept);
  });
  rules_.wait_queue.Schedule(place, now + place.keep_ms, TimerClass::kReservation);
  WaitQueue::StandAbsent(place);
}

void Places::Skip(Claim& place, TimeMs now) {
  rules_.wait_queue.ForgetWaiting(FirstClaim(place));
  ForEachClaim(place, [&](Claim& claim) {
    ContendedLock& contended = *claim.lock.contended;
    rules_.wait_queue.RememberIfKeyEnds(claim, Cause::kRequest);
    contended.active.erase(contended.active.iterator_to(claim));
    claim.SetState(ClaimState::kSkipped);
    ++state_.counts.skipped;
  });
  rules_.wait_queue.Schedule(place, now + state_.options.reconnect_grace_ms,
                             TimerClass::kReservation);
  WaitQueue::StandAbsent(place);
  rules_.wait_queue.EnqueueOthers(place);
}

void Places::Mark(Claim& place, TimeMs now) {
  rules_.wait_queue.Enter(place, now);
  ContendedLock& contended = *place.lock.contended;
  contended.active.erase(contended.active.iterator_to(place));
  place.SetState(ClaimState::kMarked);
  ++state_.counts.skipped;
  rules_.wait_queue.Schedule(place, now + place.keep_ms, TimerClass::kReservation);
}

void Places::LoseRequest(Claim& place, TimeMs now) {
  if (place.keep_ms > 0) {
    Keep(place, now);
  } else if (state_.options.reconnect_grace_ms > 0) {
    Skip(place, now);
  } else {
    rules_.events.EmitPlace(EventKind::kLapsed, place, now);
    rules_.wait_queue.Remove(place, Cause::kRequest);
  }
}

void Places::Grant(Claim& place, Attachment* to, TimeMs now) {
  const Token token = rules_.holds.NextToken();
  if (MultiLock* multi_lock = place.multi_lock())
    Claims::StartMultiLock(state_, *multi_lock, token);
  ForEachClaim(place, [&](Claim& claim) { GrantClaim(claim, token, to, now); });
  rules_.wait_queue.EnqueueOthers(place);
}

void Places::GrantClaim(Claim& claim, Token token, Attachment* to, TimeMs now) {
  const std::uint64_t hash = state_.table.HashOf(claim.lock.key());
  RecentKey& recent = state_.recent.Touch(hash);
  ++recent.granted_after_wait;
  recent.NoteWait(now - claim.joined);
  ++state_.counts.granted_after_wait;
  rules_.wait_queue.Leave(claim);
  rules_.holds.Add(claim, token, to, now);
  state_.LogHold(hash, claim);
  rules_.events.Emit(EventKind::kGranted, hash, claim.lock, claim, now);
}

void Places::Return(Claim& hold, TimeMs now) {
  ContendedLock& contended = *hold.lock.contended;
  const std::uint64_t hash = state_.table.HashOf(hold.lock.key());
  rules_.events.Emit(EventKind::kUndone, hash, hold.lock, hold, now);
  state_.LogHoldEnd(hold.lock, hold);
  contended.slots.Free(hold.mode);
  contended.holds.erase(hold);
  --state_.counts.holds;
  ++state_.recent.Touch(hash).ended;
  state_.wheel.Schedule(hold, kNever, TimerClass::kLease);
  rules_.holds.Unbind(hold);
  hold.token = 0;
  hold.SetSince(hold.joined);
  hold.SetState(ClaimState::kWaiting);  // so that, if it does not stay, it ends as a place
  const auto behind = std::find_if(contended.queue.begin(), contended.queue.end(),
                                   [&](const Claim& other) { return other.number > hold.number; });
  rules_.wait_queue.Link(contended);
  if (hold.multi_lock() != nullptr) ++contended.multi_locks_in_queue;
  contended.queue.insert(behind, hold);
  ++state_.counts.places;
  rules_.wait_queue.Activate(hold);
}

// If the place has a channel, that may have another subscriber by now, which would receive the
// next grant.
void Places::LoseDelivery(Claim& place, TimeMs now) {
  NotifyChannel* channel = place.channel();
  if (channel == nullptr || !channel->is_open) return LoseRequest(place, now);
  Await(place, *channel, std::max(FirstClaim(place).extras->wait_end, now));
}

// SET NX does not grant a value whose LOCK is waiting, or that has a place of an MLOCK. If SET NX
// created the place, each further SET NX prolongs it.
LockResult ValuePlaces::AskAgain(std::uint64_t hash, Claim& place, const LockRequest& request,
                                 Attachment& from, Step step) {
  if (place.state == ClaimState::kWaiting || place.multi_lock() != nullptr) {
    const DenialReason reason = Turns::ReasonFor(state_, place.lock, request.mode());
    return rules_.events.Deny(hash, place.lock, request, from.client, reason, step.now);
  }
  LockRequest asked = request;
  if (request.takes_place && place.is_redis_way()) {
    asked.keep_ms = KeepOfValues(request.key.bytes);
  }
  return rules_.repeated_requests.Repeat(place, asked, from, step);
}

// Marks may use at most half of the permitted places, so that values that never return leave room
// for waiters.
void ValuePlaces::Mark(LockEntry& lock, const LockRequest& request, const Attachment& from,
                       TimeMs now) {
  if (!request.takes_place) return;
  const DurationMs keep_ms = KeepOfValues(request.key.bytes);
  const std::uint64_t places = state_.counts.places + state_.counts.watchers;
  const bool is_half_full =
      places >= state_.options.places_max / 2 ||
      rules_.bounds.IsQueueAtBound(lock, state_.options.places_per_key_max / 2);
  if (keep_ms == 0 || is_half_full || rules_.bounds.WhyNotMore(from.client)) return;
  LockRequest asked = request;
  asked.keep_ms = keep_ms;
  lock.NeedContended();
  rules_.places.Mark(Claims::Create(state_, lock, asked, from.client), now);
}

}  // namespace fairlock::engine
