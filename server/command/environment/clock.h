// The clocks that commands read in addition to the time of the turn.
#pragma once

#include <cstdint>

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

}  // namespace fairlock::command
