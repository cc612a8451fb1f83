#include <algorithm>
#include <iterator>
#include <utility>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

void WaitQueue::Enter(Claim& place, TimeMs now) {
  const std::uint64_t arrival = state_.next_arrival++;
  ForEachClaim(place, [&](Claim& claim) {
    ContendedLock& contended = claim.lock.NeedContended();
    claim.arrival = arrival;
    claim.number = contended.next_number++;
    claim.joined = now;
    claim.SetSince(now);
    Link(contended);
    if (claim.multi_lock() != nullptr) ++contended.multi_locks_in_queue;
    contended.queue.push_back(claim);
    contended.active.push_back(claim);
    ++state_.counts.places;
  });
}

void WaitQueue::StandAbsent(Claim& place) {
  if (NotifyChannel* channel = place.channel()) channel->absent.push_back(RequestOf(place));
}

void WaitQueue::LeaveAbsent(Claim& place) {
  NotifyChannel* channel = place.channel();
  Pending& request = RequestOf(place);
  const bool is_absent = channel != nullptr && request.attachment == nullptr &&
                         static_cast<AttachmentHook&>(request).is_linked();
  if (is_absent) channel->absent.erase(channel->absent.iterator_to(request));
}

void WaitQueue::ForgetWaiting(Claim& place) {
  if (WaitingRequests::Has(place)) state_.waiting.Erase(place);
}

void WaitQueue::Schedule(Claim& place, TimeMs deadline, std::uint8_t timer_class) {
  state_.wheel.Schedule(TimerOf(place), deadline, timer_class);
  ForEachClaim(place, [&](Claim& claim) {
    ContendedLock& contended = *claim.lock.contended;
    contended.due_min = std::min(contended.due_min, deadline);
  });
}

void WaitQueue::Activate(Claim& claim) {
  ContendedLock& contended = *claim.lock.contended;
  if (static_cast<ActiveHook&>(claim).is_linked()) return;
  if (claim.is_place() && !claim.is_active()) --state_.counts.skipped;
  // After the nearest active place ahead of it.
  for (auto at = contended.queue.iterator_to(claim); at != contended.queue.begin();) {
    --at;
    if (!static_cast<ActiveHook&>(*at).is_linked()) continue;
    contended.active.insert(std::next(contended.active.iterator_to(*at)), claim);
    return;
  }
  contended.active.push_front(claim);
}

void WaitQueue::Reserve(Claim& place) {
  ForEachClaim(place, [&](Claim& claim) { ReserveSlot(claim); });
}

void WaitQueue::Unreserve(Claim& place) {
  ForEachClaim(place, [&](Claim& claim) { UnreserveSlot(claim); });
}

void WaitQueue::ReserveSlot(Claim& claim) {
  ContendedLock& contended = *claim.lock.contended;
  contended.slots.Take(claim.mode);
  ++contended.reserved;
  claim.is_reserved = true;
}

void WaitQueue::UnreserveSlot(Claim& claim) {
  if (!claim.is_reserved) return;
  ContendedLock& contended = *claim.lock.contended;
  contended.slots.Free(claim.mode);
  --contended.reserved;
  claim.is_reserved = false;
}

void WaitQueue::Link(ContendedLock& contended) {
  if (!contended.queue.empty()) return;
  contended.seen_changes = state_.limit_changes;
  Append(contended);
}

void WaitQueue::Append(ContendedLock& contended) {
  contended.queue_number = state_.next_queue_number++;
  state_.queues.push_back(contended);
}

void WaitQueue::SetSeen(ContendedLock& contended, bool is_seen) {
  if (!is_seen && contended.seen_changes == 0) return;
  const std::uint64_t first = state_.queues.begin()->queue_number;
  state_.queues.erase(state_.queues.iterator_to(contended));
  if (is_seen) {
    contended.seen_changes = state_.limit_changes;
    return Append(contended);
  }
  state_.may_be_unseen = true;
  contended.seen_changes = 0;
  contended.queue_number = first - 1;
  state_.queues.insert(state_.queues.begin(), contended);
}

void WaitQueue::Leave(Claim& claim) {
  ContendedLock& contended = *claim.lock.contended;
  UnreserveSlot(claim);
  ForgetWaiting(claim);
  LeaveAbsent(claim);
  if (claim.multi_lock() != nullptr) --contended.multi_locks_in_queue;
  contended.queue.erase(contended.queue.iterator_to(claim));
  if (contended.queue.empty()) state_.queues.erase(state_.queues.iterator_to(contended));
  if (static_cast<ActiveHook&>(claim).is_linked()) {
    contended.active.erase(contended.active.iterator_to(claim));
  }
  if (claim.is_place() && !claim.is_active()) --state_.counts.skipped;
  if (std::exchange(claim.is_stored, false) && state_.changes != nullptr) {
    state_.changes->NoteEnd(ChangeLog::Kind::kPlace, claim.arrival);
  }
  state_.wheel.Cancel(claim);
  --state_.counts.places;
}

// A key without a hold exists, for the Redis commands, while a slot is reserved or an MLOCK is
// next. So the end of this place may end the key.
void WaitQueue::RememberIfKeyEnds(const Claim& claim, Cause cause) {
  ContendedLock& contended = *claim.lock.contended;
  const bool keeps_key =
      claim.is_reserved || (claim.multi_lock() != nullptr && contended.slots.taken() == 0 &&
                            claim.is_active() && &contended.active.front() == &claim);
  if (keeps_key) contended.vacating = cause;
}

void WaitQueue::Remove(Claim& place, Cause cause) {
  EnqueueOthers(place);
  ForEachClaim(place, [&](const Claim& claim) { RememberIfKeyEnds(claim, cause); });
  MultiLock* multi_lock = place.multi_lock();
  if (multi_lock == nullptr) {
    Leave(place);
    Claims::Destroy(state_, place);
    return;
  }
  // Destroying the last claim destroys the multi-lock.
  for (std::size_t left = multi_lock->claims.size(); left > 0; --left) {
    Claim& claim = *multi_lock->claims.back();
    Leave(claim);
    Claims::Destroy(state_, claim);
  }
}

void WaitQueue::Enqueue(LockEntry& lock) {
  if (std::exchange(lock.contended->is_to_grant, true)) return;
  state_.queues_to_grant.push_back(&lock);
}

void WaitQueue::EnqueueOthers(const Claim& place) {
  const MultiLock* multi_lock = place.multi_lock();
  if (multi_lock == nullptr) return;
  for (const Claim* claim : multi_lock->claims) {
    if (claim != &place) Enqueue(claim->lock);
  }
}

}  // namespace fairlock::engine
