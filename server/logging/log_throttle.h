// Limits how often a repeated event is logged.
#pragma once

#include <cstdint>
#include <utility>

#include "server/engine/api/types.h"

namespace fairlock::server {

// Counts the occurrences of an event between two log lines; there is at most one line per kQuietMs.
class LogThrottle {
 public:
  static constexpr engine::DurationMs kQuietMs = 10'000;

  // Returns the count to log now, or 0 to log nothing.
  std::uint64_t CountToLog(engine::TimeMs now) {
    ++count_;
    if (now < quiet_until_) return 0;
    quiet_until_ = now + kQuietMs;
    return std::exchange(count_, 0);
  }

 private:
  std::uint64_t count_ = 0;
  engine::TimeMs quiet_until_ = 0;
};

}  // namespace fairlock::server
