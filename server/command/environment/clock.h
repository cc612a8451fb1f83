// The clocks that commands read in addition to the time of the turn.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "server/engine/api/types.h"

namespace fairlock::command {

// Implemented by the server, faked in tests. Loop-confined.
class Clock {
 public:
  virtual std::int64_t UnixTimeUs() const = 0;
  // Has no defined starting point, so only differences are meaningful.
  virtual std::uint64_t MonotonicNs() const = 0;
  // The processor time of this thread.
  virtual std::uint64_t ProcessorNs() const { return MonotonicNs(); }
  // A clock that takes only a few nanoseconds to read. The length of its tick is known only
  // approximately.
  virtual std::uint64_t Ticks() const { return MonotonicNs(); }
  virtual double NsPerTick() const { return 1; }

 protected:
  ~Clock() = default;
};

// Converts engine times to Unix times. Loop-confined.
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
