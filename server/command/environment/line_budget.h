// Limits how many log lines of one kind are written.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "server/engine/api/types.h"

namespace fairlock::command {

// Allows `lines_max` lines per kPeriodMs. Further lines are counted, and the next line that is
// written gives their number. Loop-confined.
class LineBudget {
 public:
  static constexpr engine::DurationMs kPeriodMs = 10'000;

  explicit LineBudget(std::uint64_t lines_max) : lines_max_(lines_max) {}

  // Whether one more line may be written now; if not, counts it.
  bool Take(engine::TimeMs now) {
    if (now >= period_end_) {
      period_end_ = now + kPeriodMs;
      lines_ = 0;
    }
    if (++lines_ <= lines_max_) return true;
    ++unwritten_;
    return false;
  }
  // The end of a line: how many lines were not written since the last one that was.
  std::string TakeUnwritten() {
    const std::uint64_t unwritten = std::exchange(unwritten_, 0);
    return unwritten == 0 ? "" : "; " + std::to_string(unwritten) + " earlier ones were not logged";
  }

 private:
  const std::uint64_t lines_max_;
  engine::TimeMs period_end_ = 0;
  std::uint64_t lines_ = 0;      // in this period
  std::uint64_t unwritten_ = 0;  // since the last line that was written
};

}  // namespace fairlock::command
