// The channels of NOTIFY: what follows when they have a subscriber again, or none any more.

#include <algorithm>
#include <memory>
#include <utility>

#include "server/engine/lock_engine.h"

namespace fairlock::engine {

std::vector<LockEntry*> LockEngine::LocksByArrival(Attachment::List& places) {
  places.sort([](const Pending& a, const Pending& b) {
    const auto arrival = [](const Pending& one) {
      return PlaceOf(const_cast<Pending&>(one)).arrival;
    };
    return arrival(a) < arrival(b);
  });
  std::vector<LockEntry*> locks;
  for (Pending& pending : places) {
    ForEachClaim(PlaceOf(pending), [&](Claim& claim) {
      if (std::exchange(claim.lock.detail->is_settling, true)) return;
      locks.push_back(&claim.lock);
    });
  }
  for (LockEntry* lock : locks) lock->detail->is_settling = false;
  return locks;
}

void LockEngine::OpenChannel(std::string_view name, TimeMs now, Effects& effects) {
  if (is_frozen_) return;
  EndOverrides(now);
  NotifyChannel* found = channels_.Find(name);
  if (found == nullptr || found->is_open) return;
  // What follows may end the last claim that names it.
  const std::shared_ptr<NotifyChannel> channel = found->shared_from_this();
  channel->is_open = true;
  const std::vector<LockEntry*> locks = LocksByArrival(channel->absent);
  if (locks.empty()) return;
  // Those whose time is over are gone then.
  BeginSettling(locks, now, effects);
  while (!channel->absent.empty()) ReturnToWait(PlaceOf(channel->absent.front()), now, effects);
  ServeAll(locks, now, effects);
}

void LockEngine::ReturnToWait(Claim& place, TimeMs now, Effects& effects) {
  Unreserve(place);
  const bool is_deadlock =
      FindBlocked(place, place.mode) != nullptr && IsDeadlockOfPlace(place, place.mode, now);
  NotifyChannel& channel = *place.channel();
  LeaveAbsent(place);
  const TimeMs wait_end = FirstClaim(place).extras->wait_end;
  Await(place, channel, std::max(wait_end, now));
  if (!is_deadlock) return;
  AnswerPlace(place, {.kind = ResolutionKind::kDeadlock}, now, effects);
  TellPlace(EventKind::kCancelled, place, now);
  RemovePlace(place, Cause::kRequest);
}

void LockEngine::CloseChannel(std::string_view name, TimeMs now, Effects& effects) {
  if (is_frozen_) return;
  EndOverrides(now);
  NotifyChannel* found = channels_.Find(name);
  if (found == nullptr || !found->is_open) return;
  const std::shared_ptr<NotifyChannel> channel = found->shared_from_this();
  channel->is_open = false;
  const std::vector<LockEntry*> locks = LocksByArrival(channel->pending);
  // All are absent before anything overdue is done: none of them must be granted.
  while (!channel->pending.empty()) {
    Pending& pending = channel->pending.front();
    channel->pending.pop_front();
    pending.attachment = nullptr;
    LoseRequest(PlaceOf(pending), now);
  }
  if (!locks.empty()) {
    BeginSettling(locks, now, effects);
    ServeAll(locks, now, effects);
  }
  Detach(*channel, now, effects);
}

void LockEngine::ServeAll(LockSpan locks, TimeMs now, Effects& effects) {
  for (LockEntry* lock : locks) {
    if (lock->detail != nullptr) NoteLine(*lock);
  }
  Serve(*locks.front(), now, effects);
  EndSettling(locks);
  DiscardAll(locks);
}

}  // namespace fairlock::engine
