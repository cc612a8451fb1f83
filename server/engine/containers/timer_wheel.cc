#include "server/engine/containers/timer_wheel.h"

#include <bit>
#include <cassert>

namespace fairlock::engine {

void TimerWheel::Schedule(TimerNode& node, TimeMs deadline, std::uint8_t timer_class) {
  Cancel(node);
  node.SetDue(deadline, timer_class);
  if (deadline >= kNever) return;
  ++count_;
  Insert(node);
}

void TimerWheel::Cancel(TimerNode& node) {
  if (!node.is_linked()) return;
  node.unlink();
  --count_;
}

void TimerWheel::MoveTo(TimerNode& node, List& list) {
  node.unlink();
  list.push_back(node);
}

TimerNode& TimerWheel::TakeFirst(List& list) {
  TimerNode& node = list.front();
  list.pop_front();
  --count_;
  return node;
}

void TimerWheel::Insert(TimerNode& node) {
  const TimeMs tick = node.deadline() < current_ ? current_ : node.deadline();
  const auto differing = static_cast<std::uint64_t>(tick ^ current_);
  const std::size_t level =
      differing == 0 ? 0 : static_cast<std::size_t>((std::bit_width(differing) - 1) / kDigitBits);
  assert(level < kLevels);
  const std::size_t slot = SlotOf(tick, level);
  List& list = level == 0 ? ticks_[node.timer_class()][slot] : upper_[level - 1][slot];
  list.push_back(node);
  occupied_[level] |= std::uint64_t{1} << slot;
}

bool TimerWheel::Cascade(std::size_t& steps_left) {
  // Starts at the top level, because a node that moves down from one level may belong in the slot
  // that the current tick enters on the next level.
  for (std::size_t level = kLevels - 1; level > 0; --level) {
    const TimeMs span = TimeMs{1} << (kDigitBits * static_cast<int>(level));
    if ((current_ & (span - 1)) != 0) continue;
    const std::size_t slot = SlotOf(current_, level);
    List& list = upper_[level - 1][slot];
    while (!list.empty()) {
      if (steps_left == 0) return false;
      --steps_left;
      TimerNode& node = list.front();
      list.pop_front();
      Insert(node);
    }
    occupied_[level] &= ~(std::uint64_t{1} << slot);
  }
  return true;
}

bool TimerWheel::StepTo(TimeMs now) {
  const TimeMs next = NextTick();
  current_ = next <= now ? next : now + 1;
  return next <= now;
}

bool TimerWheel::IsTickEmpty(std::size_t slot) const {
  for (const auto& slots : ticks_) {
    if (!slots[slot].empty()) return false;
  }
  return true;
}

bool TimerWheel::IsCurrentBusy() const {
  for (const List& list : ordered_) {
    if (!list.empty()) return true;
  }
  for (std::size_t level = 1; level < kLevels; ++level) {
    const TimeMs span = TimeMs{1} << (kDigitBits * static_cast<int>(level));
    if ((current_ & (span - 1)) != 0) break;
    if (!upper_[level - 1][SlotOf(current_, level)].empty()) return true;
  }
  return !IsTickEmpty(SlotOf(current_, 0));
}

TimeMs TimerWheel::NextTick() const {
  if (count_ == 0) return kNever;
  // Nodes that the current tick has yet to move down may be due before all nodes on lower levels.
  if (IsCurrentBusy()) return current_;
  for (std::size_t level = 0; level < kLevels; ++level) {
    const int shift = kDigitBits * static_cast<int>(level);
    std::uint64_t bits = occupied_[level] & (~std::uint64_t{0} << SlotOf(current_, level));
    for (; bits != 0; bits &= bits - 1) {
      const auto slot = static_cast<std::size_t>(std::countr_zero(bits));
      const bool is_empty = level == 0 ? IsTickEmpty(slot) : upper_[level - 1][slot].empty();
      if (is_empty) continue;
      const TimeMs block = (current_ >> shift >> kDigitBits) << kDigitBits;
      return (block | static_cast<TimeMs>(slot)) << shift;
    }
  }
  return kNever;
}

}  // namespace fairlock::engine
