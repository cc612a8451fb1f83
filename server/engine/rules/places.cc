#include "server/engine/rules/places.h"

#include <algorithm>
#include <cassert>

namespace fairlock::engine {

void Places::Join(Claim& place, const LockRequest& request, Attachment& from, TimeMs now) {
  wait_queue_.Enter(place, now);
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
    wait_queue_.Activate(claim);
    claim.SetState(ClaimState::kWaiting);
  });
  Claim& first = FirstClaim(place);
  if (!WaitingRequests::Has(first)) state_.waiting.Insert(first);
  Pending& pending = RequestOf(place);
  pending.attachment = &on;
  on.pending.push_back(pending);
  wait_queue_.Schedule(place, end, TimerClass::kWait);
}

void Places::Keep(Claim& place, TimeMs now) {
  wait_queue_.ForgetWaiting(FirstClaim(place));
  ForEachClaim(place, [&](Claim& claim) {
    wait_queue_.Activate(claim);
    claim.SetState(ClaimState::kKept);
  });
  wait_queue_.Schedule(place, now + place.keep_ms, TimerClass::kReservation);
  WaitQueue::StandAbsent(place);
}

void Places::Skip(Claim& place, TimeMs now) {
  wait_queue_.ForgetWaiting(FirstClaim(place));
  ForEachClaim(place, [&](Claim& claim) {
    ContendedLock& contended = *claim.lock.contended;
    wait_queue_.RememberIfKeyEnds(claim, Cause::kRequest);
    contended.active.erase(contended.active.iterator_to(claim));
    claim.SetState(ClaimState::kSkipped);
    ++state_.counts.skipped;
  });
  wait_queue_.Schedule(place, now + state_.options.reconnect_grace_ms, TimerClass::kReservation);
  WaitQueue::StandAbsent(place);
  wait_queue_.EnqueueOthers(place);
}

void Places::Mark(Claim& place, TimeMs now) {
  wait_queue_.Enter(place, now);
  ContendedLock& contended = *place.lock.contended;
  contended.active.erase(contended.active.iterator_to(place));
  place.SetState(ClaimState::kMarked);
  ++state_.counts.skipped;
  wait_queue_.Schedule(place, now + place.keep_ms, TimerClass::kReservation);
}

void Places::LoseRequest(Claim& place, TimeMs now) {
  if (place.keep_ms > 0) {
    Keep(place, now);
  } else if (state_.options.reconnect_grace_ms > 0) {
    Skip(place, now);
  } else {
    events_.EmitPlace(EventKind::kLapsed, place, now);
    wait_queue_.Remove(place, Cause::kRequest);
  }
}

void Places::Grant(Claim& place, Attachment* to, TimeMs now) {
  const Token token = holds_.NextToken();
  if (MultiLock* multi_lock = place.multi_lock()) claims_.StartMultiLock(*multi_lock, token);
  ForEachClaim(place, [&](Claim& claim) { GrantClaim(claim, token, to, now); });
  wait_queue_.EnqueueOthers(place);
}

void Places::GrantClaim(Claim& claim, Token token, Attachment* to, TimeMs now) {
  const std::uint64_t hash = state_.table.HashOf(claim.lock.key());
  RecentKey& recent = state_.recent.Touch(hash);
  ++recent.granted_after_wait;
  recent.NoteWait(now - claim.joined);
  ++state_.counts.granted_after_wait;
  wait_queue_.Leave(claim);
  holds_.Add(claim, token, to, now);
  state_.LogHold(hash, claim);
  events_.Emit(EventKind::kGranted, hash, claim.lock, claim, now);
}

void Places::Return(Claim& hold, TimeMs now) {
  ContendedLock& contended = *hold.lock.contended;
  const std::uint64_t hash = state_.table.HashOf(hold.lock.key());
  events_.Emit(EventKind::kUndone, hash, hold.lock, hold, now);
  state_.LogHoldEnd(hold.lock, hold);
  contended.slots.Free(hold.mode);
  contended.holds.erase(hold);
  --state_.counts.holds;
  ++state_.recent.Touch(hash).ended;
  state_.wheel.Schedule(hold, kNever, TimerClass::kLease);
  holds_.Unbind(hold);
  hold.token = 0;
  hold.SetSince(hold.joined);
  hold.SetState(ClaimState::kWaiting);  // so that, if it does not stay, it ends as a place
  const auto behind = std::find_if(contended.queue.begin(), contended.queue.end(),
                                   [&](const Claim& other) { return other.number > hold.number; });
  wait_queue_.Link(contended);
  if (hold.multi_lock() != nullptr) ++contended.multi_locks_in_queue;
  contended.queue.insert(behind, hold);
  ++state_.counts.places;
  wait_queue_.Activate(hold);
}

// If the place has a channel, that may have another subscriber by now, which would receive the
// next grant.
void Places::LoseDelivery(Claim& place, TimeMs now) {
  NotifyChannel* channel = place.channel();
  if (channel == nullptr || !channel->is_open) return LoseRequest(place, now);
  Await(place, *channel, std::max(FirstClaim(place).extras->wait_end, now));
}

}  // namespace fairlock::engine
