// Shows times of the engine as Unix times.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "server/command/environment/clock.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Loop-confined.
class UnixTime {
 public:
  explicit UnixTime(const Clock& clock) : clock_(clock) {}

  // In milliseconds, for reading only. Until the wall clock is set, the same time of the engine
  // gives the same number.
  std::int64_t MsOf(engine::TimeMs at, engine::TimeMs now) const {
    // Both clocks are read in whole milliseconds, so their difference varies by one.
    const std::int64_t offset_ms = clock_.UnixTimeUs() / 1000 - now;
    if (std::abs(offset_ms - offset_ms_) > 1) offset_ms_ = offset_ms;
    return at + offset_ms_;
  }

 private:
  const Clock& clock_;
  mutable std::int64_t offset_ms_ = 0;  // between the engine's clock and the wall clock
};

}  // namespace fairlock::command
