// The clocks of the machine.
#pragma once

#include <cstdint>

#include "server/command/environment/clock.h"

namespace fairlock::server {

// Loop-confined.
class ProcessClock final : public command::Clock {
 public:
  ProcessClock();

  std::int64_t UnixTimeUs() const override;
  std::uint64_t MonotonicNs() const override;
  std::uint64_t ProcessorNs() const override;
  std::uint64_t Ticks() const override;
  double NsPerTick() const override;

 private:
  // This and the next member are readings of two clocks at the same moment.
  const std::uint64_t started_ns_;
  const std::uint64_t started_ticks_;
};

}  // namespace fairlock::server
