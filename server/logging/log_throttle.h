// What may happen at will, for the log.
#pragma once

#include <cstdint>
#include <utility>

#include "server/engine/api/types.h"

namespace fairlock::server {

// How often something happened since it was last logged: at most once in kQuietMs.
class LogThrottle {
 public:
  static constexpr engine::DurationMs kQuietMs = 10'000;

  // 0: not to be logged now.
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
