// What a connection's end, or one that comes from outside, does to what hangs on it.

#include <algorithm>
#include <cassert>

#include "server/engine/lock_core.h"

namespace fairlock::engine {

namespace {

TimerNode& TimerOf(Pending& pending) {
  if (pending.pending_kind == PendingKind::kWatcher) return static_cast<Watcher&>(pending);
  return TimerOf(PlaceOf(pending));
}

}  // namespace

LockList LockCore::LocksOf(Pending& pending) {
  LockList locks;
  if (pending.pending_kind == PendingKind::kWatcher) {
    locks.push_back(&static_cast<Watcher&>(pending).lock);
  } else {
    ForEachClaim(PlaceOf(pending), [&](Claim& claim) { locks.push_back(&claim.lock); });
  }
  return locks;
}

// Leaves places, watchers and sessions as they are.
void LockCore::Unlink(Attachment& attachment) {
  attachment.pending.clear_and_dispose([](Pending* pending) { pending->attachment = nullptr; });
  while (!attachment.sessions.empty()) Unbind(static_cast<Claim&>(attachment.sessions.front()));
}

void LockCore::Detach(Attachment& attachment, TimeMs now, Effects& effects) {
  if (is_frozen_) return Unlink(attachment);
  EndOverrides(now);
  while (!attachment.pending.empty()) {
    Pending& pending = attachment.pending.front();
    attachment.pending.pop_front();
    pending.attachment = nullptr;
    const LockList locks = LocksOf(pending);
    if (pending.pending_kind == PendingKind::kWatcher) {
      DestroyWatcher(static_cast<Watcher&>(pending));
    } else {
      LoseRequest(PlaceOf(pending), now);
    }
    SettleAndServe(locks, now, effects);
  }
  while (!attachment.sessions.empty()) {
    auto& hold = static_cast<Claim&>(attachment.sessions.front());
    const LockList locks = {&hold.lock};
    LoseSession(hold, now);
    SettleAndServe(locks, now, effects);
  }
}

void LockCore::LoseSession(Claim& hold, TimeMs now) {
  LockEntry& lock = hold.lock;
  Unbind(hold);
  const DurationMs grace_ms = *hold.extras->session_grace_ms;
  if (grace_ms > 0) {
    ScheduleMember(*lock.detail, hold, std::min(hold.extras->lease_end, now + grace_ms),
                   TimerClass::kLease);
  } else {
    EndHold(table_.HashOf(lock.key()), lock, hold, HoldEnd::kDisconnected, now);
  }
}

void LockCore::SettleAndServe(LockSpan locks, TimeMs now, Effects& effects) {
  BeginSettling(locks, now, effects);
  Serve(*locks.front(), now, effects);
  EndSettling(locks);
  DiscardAll(locks);
}

void LockCore::EndWaits(Attachment& attachment, TimeMs now, Effects& effects) {
  if (is_frozen_) return;
  EndOverrides(now);
  while (!attachment.pending.empty()) {
    Pending& pending = attachment.pending.front();
    const LockList locks = LocksOf(pending);
    // What is overdue may have given it the lock, or ended its wait: then it is gone from the list.
    BeginSettling(locks, now, effects);
    const bool is_there = !attachment.pending.empty() && &attachment.pending.front() == &pending;
    if (is_there) EndDue(TimerOf(pending), now, effects);
    EndSettling(locks);
    DiscardAll(locks);
  }
}

bool LockCore::UndoGrant(std::uint64_t key_hash, Token token, TimeMs now, Effects& effects) {
  if (is_frozen_) return false;
  EndOverrides(now);
  if (Group* group = held_groups_.Find(token)) return UndoGroup(*group, now, effects);
  LockEntry* lock = table_.FindByHash(
      key_hash, [&](const LockEntry& entry) { return FindToken(entry, token) != nullptr; });
  if (lock == nullptr) return false;
  Hold& hold = const_cast<Hold&>(*FindToken(*lock, token));
  if (!hold.is_claim()) {
    if (lock->plain.is_touched()) return false;
    EndHold(key_hash, *lock, hold, HoldEnd::kUndone, now);
  } else {
    auto& claim = static_cast<Claim&>(hold);
    if (claim.is_touched) return false;
    if (claim.arrival != 0) {
      ReturnToLine(claim, now);
      NotePlace(claim);
      LoseDelivery(claim, now);
    } else {
      EndHold(key_hash, *lock, hold, HoldEnd::kUndone, now);
    }
  }
  // The place is absent before anything overdue is done: a dead waiter must not be granted.
  SettleAndServe(LockList{lock}, now, effects);
  return true;
}

// A repeated LOCK of one key may have changed the options of one claim; a place has the same on
// all.
void LockCore::AdoptRequest(Claim& claim, const Claim& first) {
  claim.lease_ms = first.lease_ms;
  claim.extras->session_grace_ms = first.extras->session_grace_ms;
  claim.extras->channel = first.extras->channel;
}

// The channel of the place may have got another subscriber, who hears of the next grant.
void LockCore::LoseDelivery(Claim& place, TimeMs now) {
  NotifyChannel* channel = place.channel();
  if (channel == nullptr || !channel->is_open) return LoseRequest(place, now);
  Await(place, *channel, std::max(FirstClaim(place).extras->wait_end, now));
}

bool LockCore::UndoGroup(Group& group, TimeMs now, Effects& effects) {
  if (group.is_touched) return false;
  Claim& first = *group.claims.front();
  LockList locks;
  ForEachClaim(first, [&](Claim& claim) { locks.push_back(&claim.lock); });
  NoteOtherLines(first);
  if (group.is_whole() && first.arrival != 0) {
    StopGroup(group);
    ForEachClaim(first, [&](Claim& claim) { ReturnToLine(claim, now); });
    ForEachClaim(first, [&](Claim& claim) { AdoptRequest(claim, first); });
    NotePlace(first);
    LoseDelivery(first, now);
  } else {
    // A place of which a part is gone already can not return. The last one takes the group along.
    for (LockEntry* lock : locks) {
      Claim& claim = *group.claims.front();
      EndHold(table_.HashOf(lock->key()), *lock, claim, HoldEnd::kUndone, now);
    }
  }
  SettleAndServe(locks, now, effects);
  return true;
}

}  // namespace fairlock::engine
