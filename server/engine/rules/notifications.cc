#include <algorithm>
#include <memory>
#include <utility>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

std::vector<LockEntry*> Notifications::LocksByArrival(Attachment::List& places) {
  places.sort([](const Pending& a, const Pending& b) {
    const auto arrival = [](const Pending& one) {
      return PlaceOf(const_cast<Pending&>(one)).arrival;
    };
    return arrival(a) < arrival(b);
  });
  std::vector<LockEntry*> locks;
  for (Pending& pending : places) {
    ForEachClaim(PlaceOf(pending), [&](Claim& claim) {
      if (std::exchange(claim.lock.contended->is_expiring, true)) return;
      locks.push_back(&claim.lock);
    });
  }
  for (LockEntry* lock : locks) lock->contended->is_expiring = false;
  return locks;
}

void Notifications::Open(std::string_view name, Step step) {
  if (state_.is_frozen) return;
  Limits::EndDue(state_, step.now);
  NotifyChannel* found = state_.channels.Find(name);
  if (found == nullptr || found->is_open) return;
  // Keeps the channel alive, because the last claim that names it may end below.
  const std::shared_ptr<NotifyChannel> channel = found->shared_from_this();
  channel->is_open = true;
  const std::vector<LockEntry*> locks = LocksByArrival(channel->absent);
  if (locks.empty()) return;
  // Ends the places whose time is over, so that they do not wait again.
  rules_.expiry.Begin(locks, step);
  rules_.deadlocks.set_sharing(true);
  while (!channel->absent.empty()) ReturnToWait(PlaceOf(channel->absent.front()), step);
  rules_.deadlocks.set_sharing(false);
  GrantAll(locks, step);
}

void Notifications::ReturnToWait(Claim& place, Step step) {
  rules_.wait_queue.Unreserve(place);
  const bool is_deadlock = Turns::FindBlocked(state_, place, place.mode) != nullptr &&
                           rules_.deadlocks.IsDeadlockOfPlace(place, place.mode, step.now);
  NotifyChannel& channel = *place.channel();
  WaitQueue::LeaveAbsent(place);
  const TimeMs wait_end = FirstClaim(place).extras->wait_end;
  rules_.places.Await(place, channel, std::max(wait_end, step.now));
  if (!is_deadlock) return;
  rules_.answers.AnswerPlace(place, {.kind = ResolutionKind::kDeadlock}, step);
  rules_.events.EmitPlace(EventKind::kCancelled, place, step.now);
  rules_.wait_queue.Remove(place, Cause::kRequest);
}

void Notifications::Close(std::string_view name, Step step) {
  if (state_.is_frozen) return;
  Limits::EndDue(state_, step.now);
  NotifyChannel* found = state_.channels.Find(name);
  if (found == nullptr || !found->is_open) return;
  const std::shared_ptr<NotifyChannel> channel = found->shared_from_this();
  channel->is_open = false;
  const std::vector<LockEntry*> locks = LocksByArrival(channel->pending);
  // All places become absent before overdue deadlines are handled, so that none of them is granted.
  while (!channel->pending.empty()) {
    Pending& pending = channel->pending.front();
    channel->pending.pop_front();
    pending.attachment = nullptr;
    rules_.places.LoseRequest(PlaceOf(pending), step.now);
  }
  if (!locks.empty()) {
    rules_.expiry.Begin(locks, step);
    GrantAll(locks, step);
  }
  rules_.sessions.Detach(*channel, step);
}

void Notifications::GrantAll(LockSpan locks, Step step) {
  for (LockEntry* lock : locks) {
    if (lock->contended != nullptr) rules_.wait_queue.Enqueue(*lock);
  }
  rules_.grants.GrantNext(*locks.front(), step);
  rules_.expiry.End(locks);
  Claims::DiscardAll(state_, locks);
}

}  // namespace fairlock::engine
