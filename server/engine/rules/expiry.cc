#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

namespace {

LockEntry& LockOf(TimerNode& node) {
  switch (node.timer_kind()) {
    case TimerKind::kHold:
      return LockEntry::Of(static_cast<Hold&>(node));
    case TimerKind::kPlace:
      return static_cast<Claim&>(node).lock;
    case TimerKind::kMultiLock:
      return static_cast<MultiLock&>(node).claims.front()->lock;
    case TimerKind::kCooling:
      return static_cast<Cooldown&>(node).lock;
    case TimerKind::kWatcher:
      break;
  }
  return static_cast<Watcher&>(node).lock;
}

// The holds of an MLOCK share their token, and end in the order of its keys.
std::uint64_t OrderOf(Token token, std::uint8_t rank) { return token * kMlockKeysMax + rank; }

std::uint64_t OrderOf(const TimerNode& node) {
  switch (node.timer_kind()) {
    case TimerKind::kHold: {
      const auto& hold = static_cast<const Hold&>(node);
      return OrderOf(hold.token,
                     hold.is_claim() ? static_cast<const Claim&>(hold).rank() : std::uint8_t{0});
    }
    case TimerKind::kPlace:
      return static_cast<const Claim&>(node).arrival;
    case TimerKind::kMultiLock:
      return static_cast<const MultiLock&>(node).claims.front()->arrival;
    case TimerKind::kCooling: {
      const auto& cooldown = static_cast<const Cooldown&>(node);
      return OrderOf(cooldown.token, cooldown.rank);
    }
    case TimerKind::kWatcher:
      break;
  }
  return static_cast<const Watcher&>(node).arrival;
}

bool IsDueBefore(const TimerNode* a, const TimerNode* b) {
  const auto rank = [](const TimerNode* node) {
    return std::tuple(node->deadline(), node->timer_class(), OrderOf(*node));
  };
  return rank(a) < rank(b);
}

}  // namespace

void Expiry::Reconsider(LockEntry& lock, Step step) {
  rules_.wait_queue.SetSeen(*lock.contended, true);
  rules_.grants.GrantNext(lock, step);
}

bool Expiry::ReconsiderQueues(std::size_t queues_max, Step step) {
  for (; Limits::IsAnyQueueUnseen(state_); --queues_max) {
    if (queues_max == 0 || state_.grants_left == 0) return true;
    LockEntry& lock = state_.queues.begin()->queue.front().lock;
    ExpireDue(state_.table.HashOf(lock.key()), lock, step);
  }
  return false;
}

LockEntry* Expiry::FindCurrent(std::uint64_t hash, const KeyName& key, Step step) {
  Limits::EndDue(state_, step.now);
  LockEntry* lock = state_.table.Find(hash, key);
  if (lock == nullptr || !IsBehind(step.now)) return lock;
  return ExpireDue(hash, *lock, step);
}

LockEntry* Expiry::ExpireDue(std::uint64_t hash, LockEntry& lock, Step step) {
  const LockList locks(1, &lock);
  Begin(locks, step);
  End(locks);
  return Claims::Discard(state_, hash, lock) ? nullptr : &lock;
}

void Expiry::Begin(LockSpan locks, Step step) {
  assert(state_.expiring.empty());
  state_.is_in_past = state_.is_in_transaction;
  for (LockEntry* lock : locks) AddLock(*lock);
  // Each lock may add further ones.
  for (std::size_t i = 0; i < state_.expiring.size(); ++i) {
    CollectDue(*state_.expiring[i], LastTickBefore(step.now));
  }
  std::sort(due_.begin(), due_.end(), IsDueBefore);
  due_.erase(std::unique(due_.begin(), due_.end()), due_.end());
  TimerWheel::List due;
  for (TimerNode* node : due_) TimerWheel::MoveTo(*node, due);
  due_.clear();
  // Ending one member may end or reschedule others in the list, which removes them from it.
  while (!due.empty()) EndDue(state_.wheel.TakeFirst(due), step);
  // If the transaction has changed limits, the grants that they allow are made at its end.
  state_.is_in_past =
      state_.is_in_past && state_.limit_changes == state_.limit_changes_before_transaction;
  for (LockEntry* lock : state_.expiring) {
    const bool has_queue = lock->contended != nullptr && !lock->contended->queue.empty();
    if (has_queue && !Limits::IsSeen(state_, *lock->contended)) Reconsider(*lock, step);
  }
  state_.is_in_past = false;
}

void Expiry::End(LockSpan locks) {
  for (LockEntry* lock : state_.expiring) {
    if (lock->contended != nullptr) lock->contended->is_expiring = false;
  }
  for (std::size_t i = locks.size(); i < state_.expiring.size(); ++i) {
    Claims::Discard(state_, state_.table.HashOf(state_.expiring[i]->key()), *state_.expiring[i]);
  }
  state_.expiring.clear();
}

void Expiry::AddLock(LockEntry& lock) {
  if (lock.contended != nullptr && std::exchange(lock.contended->is_expiring, true)) return;
  state_.expiring.push_back(&lock);
}

void Expiry::CollectDue(LockEntry& lock, TimeMs last_tick) {
  if (lock.has_plain_hold() && lock.plain.deadline() <= last_tick) due_.push_back(&lock.plain);
  if (lock.contended == nullptr || lock.contended->due_min > last_tick) return;
  ContendedLock& contended = *lock.contended;
  contended.due_min = kNever;
  const auto collect = [&](TimerNode& node) {
    if (!node.is_scheduled()) return false;
    const bool is_due = node.deadline() <= last_tick;
    if (is_due) {
      due_.push_back(&node);
    } else {
      contended.due_min = std::min(contended.due_min, node.deadline());
    }
    return is_due;
  };
  for (Claim& hold : contended.holds) collect(hold);
  for (Cooldown& cooldown : contended.cooldowns) collect(cooldown);
  for (Watcher& watcher : contended.watchers) collect(watcher);
  for (Claim& place : contended.queue) {
    if (!collect(TimerOf(place)) || place.multi_lock() == nullptr) continue;
    ForEachClaim(place, [&](Claim& claim) { AddLock(claim.lock); });
  }
}

void Expiry::EndDue(TimerNode& node, Step step) {
  LockEntry& lock = LockOf(node);
  switch (node.timer_kind()) {
    case TimerKind::kHold: {
      auto& hold = static_cast<Hold&>(node);
      rules_.holds.End(state_.table.HashOf(lock.key()), lock, hold,
                       hold.is_leaving() ? HoldEnd::kBroken : HoldEnd::kExpired, step.now);
      break;
    }
    case TimerKind::kPlace:
      EndPlace(static_cast<Claim&>(node), step);
      break;
    case TimerKind::kMultiLock:
      EndPlace(*static_cast<MultiLock&>(node).claims.front(), step);
      break;
    case TimerKind::kCooling:
      lock.contended->vacating = Cause::kTime;
      Cooldowns::End(state_, static_cast<Cooldown&>(node));
      break;
    case TimerKind::kWatcher: {
      auto& watcher = static_cast<Watcher&>(node);
      rules_.answers.Answer(watcher, {.kind = ResolutionKind::kWatchTimedOut}, step.effects);
      rules_.watchers.Destroy(watcher);
      break;
    }
  }
  rules_.grants.GrantNext(lock, step);
}

void Expiry::EndPlace(Claim& place, Step step) {
  if (place.state == ClaimState::kWaiting) {
    ++state_.counts.timed_out;
    rules_.answers.AnswerPlace(place, {.kind = ResolutionKind::kTimedOut}, step);
    // With NOTIFY, KEEP preserves a place after its channel has closed, but not after its WAIT.
    const bool is_kept = place.keep_ms > 0 && place.channel() == nullptr;
    if (is_kept) {
      rules_.places.Keep(place, step.now);
      return;
    }
  }
  const bool is_timed_out = place.state == ClaimState::kWaiting;
  rules_.events.EmitPlace(is_timed_out ? EventKind::kTimedOut : EventKind::kLapsed, place,
                          step.now);
  rules_.wait_queue.Remove(place, Cause::kTime);
}

bool Expiry::Advance(std::size_t steps_max, Step step) {
  const bool is_more_due = EndTimers(steps_max, step);
  return rules_.sessions.EndClosed(steps_max, step) || is_more_due;
}

bool Expiry::EndTimers(std::size_t steps_max, Step step) {
  const auto report = [&](TimerNode& node) {
    LockEntry& lock = LockOf(node);
    EndDue(node, step);
    Claims::Discard(state_, state_.table.HashOf(lock.key()), lock);
  };
  const auto order = [](const TimerNode& node) { return OrderOf(node); };
  assert(!state_.is_in_transaction);
  if (state_.is_frozen) return false;
  state_.grants_left = state_.options.grants_of_a_turn;
  Limits::EndDue(state_, step.now);
  const bool are_more_due =
      state_.wheel.Advance(LastTickBefore(step.now), steps_max, report, order);
  // On each key, overdue deadlines are handled before new limits allow further grants.
  return are_more_due || ReconsiderQueues(steps_max, step);
}

TimeMs Expiry::NextDeadline() const {
  if (state_.is_frozen) return kNever;
  if (Limits::IsAnyQueueUnseen(state_) || !state_.closed.sessions.empty()) return 0;
  const TimeMs tick = std::min(state_.wheel.NextTick(), state_.overrides.next_end());
  return tick >= kNever ? kNever : tick + 1;
}

void Expiry::ExpireAndGrant(LockSpan locks, Step step) {
  Begin(locks, step);
  rules_.grants.GrantNext(*locks.front(), step);
  End(locks);
  Claims::DiscardAll(state_, locks);
}

}  // namespace fairlock::engine
