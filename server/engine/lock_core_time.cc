// What follows from the passing of time.

#include <algorithm>
#include <cassert>
#include <tuple>

#include "server/engine/faults.h"
#include "server/engine/lock_core.h"

namespace fairlock::engine {

void LockCore::ScheduleMember(LockDetail& detail, TimerNode& node, TimeMs deadline,
                              TimerClass timer_class) {
  wheel_.Schedule(node, deadline, timer_class);
  detail.due_min = std::min(detail.due_min, deadline);
}

LockEntry* LockCore::FindSettled(std::uint64_t hash, const KeyName& key, TimeMs now,
                                 Effects& effects) {
  EndOverrides(now);
  LockEntry* lock = table_.Find(hash, key);
  if (lock == nullptr) return lock;
  if (!wheel_.is_behind(LastTickBefore(now)) && !IsAnyLineUnseen()) return lock;
  return Settle(hash, *lock, now, effects);
}

LockEntry* LockCore::Settle(std::uint64_t hash, LockEntry& lock, TimeMs now, Effects& effects) {
  TimerWheel::List due;
  if (!IsFaulty(Fault::kLateExpiry)) CollectDue(lock, LastTickBefore(now));
  for (TimerNode* node : due_) TimerWheel::MoveTo(*node, due);
  due_.clear();
  // Ending one may end, or give a new deadline to, others of the list, which then leave it.
  while (!due.empty()) EndDue(wheel_.TakeFirst(due), now, effects);
  const bool has_line = lock.detail != nullptr && !lock.detail->line.empty();
  if (has_line && !IsSeen(*lock.detail)) LookAgain(lock, now, effects);
  return Discard(hash, lock) ? nullptr : &lock;
}

void LockCore::CollectDue(LockEntry& lock, TimeMs last_tick) {
  due_.clear();
  if (lock.has_plain_hold() && lock.plain.deadline() <= last_tick) due_.push_back(&lock.plain);
  if (lock.detail == nullptr || lock.detail->due_min > last_tick) return;
  LockDetail& detail = *lock.detail;
  detail.due_min = kNever;
  const auto collect = [&](auto& members) {
    for (auto& member : members) {
      if (!member.is_scheduled()) continue;
      if (member.deadline() <= last_tick) {
        due_.push_back(&member);
      } else {
        detail.due_min = std::min(detail.due_min, member.deadline());
      }
    }
  };
  collect(detail.holds);
  collect(detail.cooling);
  collect(detail.line);
  collect(detail.watchers);
  std::sort(due_.begin(), due_.end(), [](const TimerNode* a, const TimerNode* b) {
    const auto rank = [](const TimerNode* node) {
      return std::tuple(node->deadline(), node->timer_class(), node->is_ordered(), OrderOf(*node));
    };
    return rank(a) < rank(b);
  });
}

void LockCore::EndDue(TimerNode& node, TimeMs now, Effects& effects) {
  LockEntry& lock = LockOf(node);
  const bool frees_empty_room =
      node.timer_kind() == TimerKind::kCooling ||
      (node.timer_kind() == TimerKind::kPlace && static_cast<Claim&>(node).is_reserved);
  switch (node.timer_kind()) {
    case TimerKind::kHold:
      EndHold(table_.HashOf(lock.key()), lock, static_cast<Hold&>(node), HoldEnd::kExpired, now);
      break;
    case TimerKind::kPlace:
      EndDuePlace(static_cast<Claim&>(node), now, effects);
      break;
    case TimerKind::kCooling:
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
  if (frees_empty_room) TellIfVacated(lock, Cause::kTime, now);
}

void LockCore::EndDuePlace(Claim& place, TimeMs now, Effects& effects) {
  if (place.state == ClaimState::kWaiting) {
    ++counts_.timed_out;
    Answer(place, {.kind = ResolutionKind::kTimedOut}, effects);
    if (place.keep_ms > 0 && !IsFaulty(Fault::kKeepEndsWithWait)) {
      Keep(place, now);
      return;
    }
  }
  Tell(place.state == ClaimState::kWaiting ? EventKind::kTimedOut : EventKind::kLapsed,
       table_.HashOf(place.lock.key()), place.lock, place, now);
  LeaveLine(place);
  DestroyClaim(place);
}

void LockCore::EndWaits(Attachment& attachment, TimeMs now, Effects& effects) {
  EndOverrides(now);
  while (!attachment.pending.empty()) {
    Pending& pending = attachment.pending.front();
    const bool is_watcher = pending.pending_kind == PendingKind::kWatcher;
    TimerNode& node = is_watcher ? static_cast<TimerNode&>(static_cast<Watcher&>(pending))
                                 : static_cast<TimerNode&>(static_cast<Claim&>(pending));
    LockEntry& lock = LockOf(node);
    const std::uint64_t hash = table_.HashOf(lock.key());
    // What is overdue may have given it the lock, or ended its wait: then it is gone from the list.
    const bool is_there = Settle(hash, lock, now, effects) != nullptr;
    if (!is_there || attachment.pending.empty() || &attachment.pending.front() != &pending)
      continue;
    EndDue(node, now, effects);
    Discard(hash, lock);
  }
}

LockEntry& LockCore::LockOf(TimerNode& node) {
  switch (node.timer_kind()) {
    case TimerKind::kHold:
      return LockEntry::Of(static_cast<Hold&>(node));
    case TimerKind::kPlace:
      return static_cast<Claim&>(node).lock;
    case TimerKind::kCooling:
      return static_cast<CoolingRoom&>(node).lock;
    case TimerKind::kWatcher:
      break;
  }
  return static_cast<Watcher&>(node).lock;
}

std::uint64_t LockCore::OrderOf(const TimerNode& node) {
  switch (node.timer_kind()) {
    case TimerKind::kHold:
      return static_cast<const Hold&>(node).token;
    case TimerKind::kPlace:
      return static_cast<const Claim&>(node).arrival;
    case TimerKind::kCooling:
      return static_cast<const CoolingRoom&>(node).token;
    case TimerKind::kWatcher:
      break;
  }
  return static_cast<const Watcher&>(node).arrival;
}

bool LockCore::Advance(TimeMs now, std::size_t steps_max, Effects& effects) {
  const auto report = [&](TimerNode& node) {
    LockEntry& lock = LockOf(node);
    EndDue(node, now, effects);
    Discard(table_.HashOf(lock.key()), lock);
  };
  EndOverrides(now);
  const bool are_more_due =
      wheel_.Advance(LastTickBefore(now), steps_max, report, &LockCore::OrderOf);
  // On each key what is overdue comes before what new limits allow.
  return are_more_due || LookAtLines(now, steps_max, effects);
}

TimeMs LockCore::NextDeadline() const {
  if (IsAnyLineUnseen()) return 0;
  const TimeMs tick = std::min(wheel_.NextTick(), overrides_.next_end());
  return tick >= kNever ? kNever : tick + 1;
}

}  // namespace fairlock::engine
