// Limits the work that a walk over locks or names may do in one go.
#pragma once

#include <cstdint>

namespace fairlock::engine {

// Work is counted in compared bytes; comparing one takes about a nanosecond.
class MatchBudget {
 public:
  // Examining one lock or name costs as much as comparing this many bytes, whatever the glob.
  static constexpr std::uint64_t kLookCost = 48;

  explicit MatchBudget(std::uint64_t work_max) : work_max_(work_max) {}

  void Charge(std::uint64_t work) { spent_ += work; }
  void ChargeLook() { spent_ += kLookCost; }
  bool is_spent() const { return spent_ >= work_max_; }
  std::uint64_t spent() const { return spent_; }
  // The counter to which Glob::Matches adds.
  std::uint64_t& compared() { return spent_; }

 private:
  std::uint64_t work_max_;
  std::uint64_t spent_ = 0;
};

}  // namespace fairlock::engine
