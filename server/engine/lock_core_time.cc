// What follows from the passing of time.

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

#include "server/engine/lock_core.h"

namespace fairlock::engine {

namespace {

LockEntry& LockOf(TimerNode& node) {
  switch (node.timer_kind()) {
    case TimerKind::kHold:
      return LockEntry::Of(static_cast<Hold&>(node));
    case TimerKind::kPlace:
      return static_cast<Claim&>(node).lock;
    case TimerKind::kGroup:
      return static_cast<Group&>(node).claims.front()->lock;
    case TimerKind::kCooling:
      return static_cast<CoolingRoom&>(node).lock;
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
    case TimerKind::kGroup:
      return static_cast<const Group&>(node).claims.front()->arrival;
    case TimerKind::kCooling: {
      const auto& room = static_cast<const CoolingRoom&>(node);
      return OrderOf(room.token, room.rank);
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

LockEntry* LockCore::FindSettled(std::uint64_t hash, const KeyName& key, TimeMs now,
                                 Effects& effects) {
  EndOverrides(now);
  LockEntry* lock = table_.Find(hash, key);
  if (lock == nullptr || !IsBehind(now)) return lock;
  return Settle(hash, *lock, now, effects);
}

LockEntry* LockCore::Settle(std::uint64_t hash, LockEntry& lock, TimeMs now, Effects& effects) {
  const LockList locks(1, &lock);
  BeginSettling(locks, now, effects);
  EndSettling(locks);
  return Discard(hash, lock) ? nullptr : &lock;
}

void LockCore::BeginSettling(LockSpan locks, TimeMs now, Effects& effects) {
  assert(settling_.empty());
  is_in_past_ = is_in_step_;
  for (LockEntry* lock : locks) AddToSettling(*lock);
  // Each may bring further ones in.
  for (std::size_t i = 0; i < settling_.size(); ++i) {
    CollectDue(*settling_[i], LastTickBefore(now));
  }
  std::sort(due_.begin(), due_.end(), IsDueBefore);
  due_.erase(std::unique(due_.begin(), due_.end()), due_.end());
  TimerWheel::List due;
  for (TimerNode* node : due_) TimerWheel::MoveTo(*node, due);
  due_.clear();
  // Ending one may end, or give a new deadline to, others of the list, which then leave it.
  while (!due.empty()) EndDue(wheel_.TakeFirst(due), now, effects);
  // Limits that the step has changed concern its end.
  is_in_past_ = is_in_past_ && limit_changes_ == limit_changes_before_step_;
  for (LockEntry* lock : settling_) {
    const bool has_line = lock->detail != nullptr && !lock->detail->line.empty();
    if (has_line && !IsSeen(*lock->detail)) LookAgain(*lock, now, effects);
  }
  is_in_past_ = false;
}

void LockCore::EndSettling(LockSpan locks) {
  for (LockEntry* lock : settling_) {
    if (lock->detail != nullptr) lock->detail->is_settling = false;
  }
  for (std::size_t i = locks.size(); i < settling_.size(); ++i) {
    Discard(table_.HashOf(settling_[i]->key()), *settling_[i]);
  }
  settling_.clear();
}

void LockCore::AddToSettling(LockEntry& lock) {
  if (lock.detail != nullptr && std::exchange(lock.detail->is_settling, true)) return;
  settling_.push_back(&lock);
}

void LockCore::CollectDue(LockEntry& lock, TimeMs last_tick) {
  if (lock.has_plain_hold() && lock.plain.deadline() <= last_tick) due_.push_back(&lock.plain);
  if (lock.detail == nullptr || lock.detail->due_min > last_tick) return;
  LockDetail& detail = *lock.detail;
  detail.due_min = kNever;
  const auto collect = [&](TimerNode& node) {
    if (!node.is_scheduled()) return false;
    const bool is_due = node.deadline() <= last_tick;
    if (is_due) {
      due_.push_back(&node);
    } else {
      detail.due_min = std::min(detail.due_min, node.deadline());
    }
    return is_due;
  };
  for (Claim& hold : detail.holds) collect(hold);
  for (CoolingRoom& room : detail.cooling) collect(room);
  for (Watcher& watcher : detail.watchers) collect(watcher);
  for (Claim& place : detail.line) {
    if (!collect(TimerOf(place)) || place.group() == nullptr) continue;
    ForEachClaim(place, [&](Claim& claim) { AddToSettling(claim.lock); });
  }
}

void LockCore::EndDue(TimerNode& node, TimeMs now, Effects& effects) {
  LockEntry& lock = LockOf(node);
  switch (node.timer_kind()) {
    case TimerKind::kHold:
      EndHold(table_.HashOf(lock.key()), lock, static_cast<Hold&>(node), HoldEnd::kExpired, now);
      break;
    case TimerKind::kPlace:
      EndDuePlace(static_cast<Claim&>(node), now, effects);
      break;
    case TimerKind::kGroup:
      EndDuePlace(*static_cast<Group&>(node).claims.front(), now, effects);
      break;
    case TimerKind::kCooling:
      lock.detail->vacating = Cause::kTime;
      EndCooling(static_cast<CoolingRoom&>(node));
      break;
    case TimerKind::kWatcher: {
      auto& watcher = static_cast<Watcher&>(node);
      Answer(watcher, {.kind = ResolutionKind::kWatchTimedOut}, effects);
      DestroyWatcher(watcher);
      break;
    }
  }
  Serve(lock, now, effects);
}

void LockCore::EndDuePlace(Claim& place, TimeMs now, Effects& effects) {
  if (place.state == ClaimState::kWaiting) {
    ++counts_.timed_out;
    AnswerPlace(place, {.kind = ResolutionKind::kTimedOut}, now, effects);
    // By NOTIFY it is KEEP's to outlive the channel, and not the wait.
    const bool is_kept = place.keep_ms > 0 && place.channel() == nullptr;
    if (is_kept) {
      Keep(place, now);
      return;
    }
  }
  const bool is_timed_out = place.state == ClaimState::kWaiting;
  TellPlace(is_timed_out ? EventKind::kTimedOut : EventKind::kLapsed, place, now);
  RemovePlace(place, Cause::kTime);
}

bool LockCore::Advance(TimeMs now, std::size_t steps_max, Effects& effects) {
  const auto report = [&](TimerNode& node) {
    LockEntry& lock = LockOf(node);
    EndDue(node, now, effects);
    Discard(table_.HashOf(lock.key()), lock);
  };
  const auto order = [](const TimerNode& node) { return OrderOf(node); };
  assert(!is_in_step_);
  if (is_frozen_) return false;
  EndOverrides(now);
  const bool are_more_due = wheel_.Advance(LastTickBefore(now), steps_max, report, order);
  // On each key what is overdue comes before what new limits allow.
  return are_more_due || LookAtLines(now, steps_max, effects);
}

TimeMs LockCore::NextDeadline() const {
  if (is_frozen_) return kNever;
  if (IsAnyLineUnseen()) return 0;
  const TimeMs tick = std::min(wheel_.NextTick(), overrides_.next_end());
  return tick >= kNever ? kNever : tick + 1;
}

}  // namespace fairlock::engine
