// Deadlines, kept in a hierarchical timing wheel.
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstdint>

#include "server/engine/containers/time.h"

namespace fairlock::engine {

// Deadlines of one tick are reported in the order of their classes, 0 to 3.
inline constexpr std::size_t kTimerClasses = 4;

using TimerHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct TimerTag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// One deadline. The object that owns the node must cancel it before destroying it. 24 bytes.
//
// `kind`, up to 15, tells the owner what the node is part of. Ordered nodes are reported after the
// unordered ones of their tick and class, in ascending `order`.
class TimerNode : public TimerHook {
 public:
  TimerNode(std::uint8_t kind, bool is_ordered)
      : deadline_(kNever), kind_(0), class_(0), is_ordered_(is_ordered), spare_(0) {
    set_timer_kind(kind);
  }
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;

  TimeMs deadline() const { return static_cast<TimeMs>(deadline_); }
  std::uint8_t timer_kind() const { return static_cast<std::uint8_t>(kind_); }
  std::uint8_t timer_class() const { return static_cast<std::uint8_t>(class_); }
  bool is_scheduled() const { return is_linked(); }
  bool is_ordered() const { return is_ordered_ != 0; }
  // Called by the wheel.
  void SetDue(TimeMs deadline, std::uint8_t timer_class) {
    deadline_ = static_cast<std::uint64_t>(deadline) & ((std::uint64_t{1} << 44) - 1);
    class_ = timer_class & 3;
  }

 protected:
  void set_timer_kind(std::uint8_t kind) { kind_ = kind & 15; }
  // Bits that the node does not need, available to the object that owns it.
  std::uint64_t spare_bits() const { return spare_; }
  void set_spare_bits(std::uint64_t bits) { spare_ = bits & 0x1fff; }
  void SetSpareBit(std::uint64_t bit, bool is_set) {
    set_spare_bits(is_set ? spare_bits() | bit : spare_bits() & ~bit);
  }

 private:
  std::uint64_t deadline_ : 44;
  std::uint64_t kind_ : 4;
  std::uint64_t class_ : 2;
  std::uint64_t is_ordered_ : 1;
  std::uint64_t spare_ : 13;
};

// Schedule and Cancel are O(1); Advance is O(due + moved between levels), bounded by
// its budget. A deadline is never reported early. It may be reported up to one tick (1 ms) late, or
// later if Advance is called with too small a budget; `is_behind` is then true.
//
// Eight levels of 64 slots (G. Varghese and A. Lauck, "Hashed and Hierarchical Timing Wheels",
// scheme 6). A node is at the level of the highest 6-bit digit in which its deadline differs from
// the current tick. So every slot above level 0 that the current tick has entered is empty, and a
// node moves down at most once per level.
class TimerWheel {
 public:
  using List = boost::intrusive::list<TimerNode, boost::intrusive::base_hook<TimerHook>,
                                      boost::intrusive::constant_time_size<false>>;

  explicit TimerWheel(TimeMs now = 0) : current_(now) {}
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Replaces the node's earlier deadline, if any. kNever means none.
  void Schedule(TimerNode& node, TimeMs deadline, std::uint8_t timer_class);
  void Cancel(TimerNode& node);
  // Moves a scheduled node to a list of the caller. Cancel, Schedule and TakeFirst remove it from
  // that list.
  static void MoveTo(TimerNode& node, List& list);
  TimerNode& TakeFirst(List& list);

  // Reports the nodes that are due by `now`, at most about `steps_max` of them, in order of tick,
  // class and `order`. A node is unlinked before it is reported. `report(TimerNode&)` may schedule
  // and cancel any node; `order(const TimerNode&)` returns the rank of an ordered node. True: the
  // budget was spent before all were reported.
  template <typename Report, typename Order>
  bool Advance(TimeMs now, std::size_t steps_max, Report&& report, Order&& order);

  // A tick before which there is no deadline; kNever if there is no deadline at all.
  TimeMs NextTick() const;

  // True if a deadline that is due by `now` may not have been reported yet.
  bool is_behind(TimeMs now) const { return current_ <= now && count_ > 0; }
  std::size_t size() const { return count_; }

 private:
  static constexpr int kDigitBits = 6;
  static constexpr std::size_t kSlots = 1U << kDigitBits;
  static constexpr std::size_t kLevels = 8;  // cover 48 bits, more than kNever has

  static constexpr std::size_t SlotOf(TimeMs tick, std::size_t level) {
    return static_cast<std::size_t>(tick >> (kDigitBits * static_cast<int>(level))) & (kSlots - 1);
  }
  void Insert(TimerNode& node);
  // Moves the nodes in the slots that the current tick enters down to lower levels. False: the
  // budget was spent before all were moved.
  bool Cascade(std::size_t& steps_left);
  // Moves to the next tick, up to `now`, at which something may be due. False: there is none.
  bool StepTo(TimeMs now);
  bool IsTickEmpty(std::size_t slot) const;
  // True if the current tick has something to report or to move down.
  bool IsCurrentBusy() const;

  std::array<std::array<List, kSlots>, kTimerClasses> ticks_;  // level 0, by class
  std::array<std::array<List, kSlots>, kLevels - 1> upper_;    // levels 1 to 7
  std::array<std::uint64_t, kLevels> occupied_{};  // a set bit may be stale, a clear bit never is
  std::array<List, kTimerClasses> ordered_;        // the ordered nodes of the tick being reported
  std::array<bool, kTimerClasses> is_sorted_{true, true, true, true};
  TimeMs current_;  // every deadline before this tick has been reported
  std::size_t count_ = 0;
};

template <typename Report, typename Order>
bool TimerWheel::Advance(TimeMs now, std::size_t steps_max, Report&& report, Order&& order) {
  std::size_t steps_left = steps_max;
  while (current_ <= now) {
    if (!Cascade(steps_left)) return true;
    const std::size_t slot = SlotOf(current_, 0);
    for (std::size_t rank = 0; rank < kTimerClasses; ++rank) {
      List& due = ticks_[rank][slot];
      List& ordered = ordered_[rank];
      while (!due.empty()) {
        if (steps_left == 0) return true;
        --steps_left;
        if (due.front().is_ordered()) {
          MoveTo(due.front(), ordered);
          is_sorted_[rank] = false;
        } else {
          report(TakeFirst(due));
        }
      }
      if (!is_sorted_[rank]) {
        ordered.sort([&](const TimerNode& a, const TimerNode& b) { return order(a) < order(b); });
        is_sorted_[rank] = true;
      }
      while (!ordered.empty()) {
        if (steps_left == 0) return true;
        --steps_left;
        report(TakeFirst(ordered));
      }
    }
    occupied_[0] &= ~(std::uint64_t{1} << slot);
    if (!StepTo(now)) return false;
  }
  return false;
}

}  // namespace fairlock::engine
