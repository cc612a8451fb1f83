// Converts engine times to Unix times.
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

  // Returns Unix milliseconds, for display only. The same engine time always gives the same number,
  // unless the wall clock is set.
  std::int64_t MsOf(engine::TimeMs at, engine::TimeMs now) const {
    // Both clocks are read in whole milliseconds, so the difference between them jitters by one.
    const std::int64_t offset_ms = clock_.UnixTimeUs() / 1000 - now;
    if (std::abs(offset_ms - offset_ms_) > 1) offset_ms_ = offset_ms;
    return at + offset_ms_;
  }

 private:
  const Clock& clock_;
  mutable std::int64_t offset_ms_ = 0;  // wall clock minus engine clock
};

}  // namespace fairlock::command
