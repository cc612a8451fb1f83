#include <algorithm>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

namespace {

TimerNode& TimerOf(Pending& pending) {
  if (pending.pending_kind == PendingKind::kWatcher) return static_cast<Watcher&>(pending);
  return TimerOf(PlaceOf(pending));
}

}  // namespace

LockList Sessions::LocksOf(Pending& pending) {
  LockList locks;
  if (pending.pending_kind == PendingKind::kWatcher) {
    locks.push_back(&static_cast<Watcher&>(pending).lock);
  } else {
    ForEachClaim(PlaceOf(pending), [&](Claim& claim) { locks.push_back(&claim.lock); });
  }
  return locks;
}

// Unlinks places, watchers and sessions from the attachment, but does not change them otherwise.
void Sessions::Unlink(Attachment& attachment) {
  attachment.pending.clear_and_dispose([](Pending* pending) { pending->attachment = nullptr; });
  while (!attachment.sessions.empty())
    rules_.holds.Unbind(static_cast<Claim&>(attachment.sessions.front()));
}

void Sessions::Detach(Attachment& attachment, Step step) {
  if (state_.is_frozen) return Unlink(attachment);
  Limits::EndDue(state_, step.now);
  while (!attachment.pending.empty()) {
    Pending& pending = attachment.pending.front();
    attachment.pending.pop_front();
    pending.attachment = nullptr;
    const LockList locks = LocksOf(pending);
    if (pending.pending_kind == PendingKind::kWatcher) {
      rules_.watchers.Destroy(static_cast<Watcher&>(pending));
    } else {
      rules_.places.LoseRequest(PlaceOf(pending), step.now);
    }
    rules_.expiry.ExpireAndGrant(locks, step);
  }
  for (; !attachment.sessions.empty() && ended_at_once_ < kEndedAtOnceMax; ++ended_at_once_) {
    EndFirst(attachment, step);
  }
  while (!attachment.sessions.empty()) {
    rules_.holds.Bind(static_cast<Claim&>(attachment.sessions.front()), state_.closed);
  }
}

bool Sessions::EndClosed(std::size_t holds_max, Step step) {
  ended_at_once_ = 0;
  while (!state_.is_frozen && !state_.closed.sessions.empty()) {
    if (holds_max-- == 0) return true;
    EndFirst(state_.closed, step);
  }
  return false;
}

void Sessions::EndFirst(Attachment& attachment, Step step) {
  auto& hold = static_cast<Claim&>(attachment.sessions.front());
  const LockList locks(1, &hold.lock);
  LoseSession(hold, step.now);
  rules_.expiry.ExpireAndGrant(locks, step);
}

void Sessions::LoseSession(Claim& hold, TimeMs now) {
  LockEntry& lock = hold.lock;
  rules_.holds.Unbind(hold);
  const DurationMs grace_ms = *hold.extras->terms.session_grace_ms;
  if (grace_ms > 0) {
    state_.ScheduleMember(*lock.contended, hold, std::min(hold.extras->lease_end, now + grace_ms),
                          TimerClass::kLease);
  } else {
    rules_.holds.End(state_.table.HashOf(lock.key()), lock, hold, HoldEnd::kDisconnected, now);
  }
}

void Sessions::EndWaits(Attachment& attachment, Step step) {
  if (state_.is_frozen) return;
  Limits::EndDue(state_, step.now);
  while (!attachment.pending.empty()) {
    Pending& pending = attachment.pending.front();
    const LockList locks = LocksOf(pending);
    // Overdue deadlines may grant it the lock or end its wait, which removes it from the list.
    rules_.expiry.Begin(locks, step);
    const bool is_there = !attachment.pending.empty() && &attachment.pending.front() == &pending;
    if (is_there) rules_.expiry.EndDue(TimerOf(pending), step);
    rules_.expiry.End(locks);
    Claims::DiscardAll(state_, locks);
  }
}

bool Sessions::UndoGrant(std::uint64_t key_hash, Token token, Step step) {
  if (state_.is_frozen) return false;
  Limits::EndDue(state_, step.now);
  if (MultiLock* multi_lock = state_.held_multi_locks.Find(token))
    return UndoMultiLock(*multi_lock, step);
  LockEntry* lock = state_.table.FindByHash(
      key_hash, [&](const LockEntry& entry) { return Holds::FindToken(entry, token) != nullptr; });
  if (lock == nullptr) return false;
  Hold& hold = const_cast<Hold&>(*Holds::FindToken(*lock, token));
  if (!hold.is_claim()) {
    if (lock->plain.is_touched()) return false;
    rules_.holds.End(key_hash, *lock, hold, HoldEnd::kUndone, step.now);
  } else {
    auto& claim = static_cast<Claim&>(hold);
    if (claim.is_touched) return false;
    if (claim.arrival != 0 && !claim.is_leaving()) {
      rules_.places.Return(claim, step.now);
      rules_.places.LogPlace(claim);
      rules_.places.LoseDelivery(claim, step.now);
    } else {
      rules_.holds.End(key_hash, *lock, hold, HoldEnd::kUndone, step.now);
    }
  }
  // The place is already absent when overdue deadlines are handled: a dead waiter must get no
  // grant.
  rules_.expiry.ExpireAndGrant(LockList{lock}, step);
  return true;
}

// Copies the options of `first`: all claims of a place have the same options, but a repeated LOCK
// of one key may have changed those of one hold.
void Sessions::AdoptRequest(Claim& claim, const Claim& first) {
  claim.lease_ms = first.lease_ms;
  claim.extras->terms.session_grace_ms = first.extras->terms.session_grace_ms;
  claim.extras->channel = first.extras->channel;
}

bool Sessions::UndoMultiLock(MultiLock& multi_lock, Step step) {
  if (multi_lock.is_touched) return false;
  Claim& first = *multi_lock.claims.front();
  LockList locks;
  ForEachClaim(first, [&](Claim& claim) { locks.push_back(&claim.lock); });
  rules_.wait_queue.EnqueueOthers(first);
  bool is_any_leaving = false;
  ForEachClaim(first, [&](const Claim& claim) { is_any_leaving |= claim.is_leaving(); });
  if (multi_lock.is_whole() && first.arrival != 0 && !is_any_leaving) {
    Claims::StopMultiLock(state_, multi_lock);
    ForEachClaim(first, [&](Claim& claim) { rules_.places.Return(claim, step.now); });
    ForEachClaim(first, [&](Claim& claim) { AdoptRequest(claim, first); });
    rules_.places.LogPlace(first);
    rules_.places.LoseDelivery(first, step.now);
  } else {
    // A place cannot return if some of its claims are gone or leave. Ending the last claim
    // destroys the multi-lock.
    for (LockEntry* lock : locks) {
      Claim& claim = *multi_lock.claims.front();
      rules_.holds.End(state_.table.HashOf(lock->key()), *lock, claim, HoldEnd::kUndone, step.now);
    }
  }
  rules_.expiry.ExpireAndGrant(locks, step);
  return true;
}

}  // namespace fairlock::engine
