#include "server/process/process_clock.h"

#include "server/net/clock.h"

namespace fairlock::server {

ProcessClock::ProcessClock() : started_ns_(net::MonotonicNs()), started_ticks_(net::Ticks()) {}

std::int64_t ProcessClock::UnixTimeUs() const { return net::UnixTimeUs(); }

std::uint64_t ProcessClock::MonotonicNs() const { return net::MonotonicNs(); }

std::uint64_t ProcessClock::ProcessorNs() const { return net::ProcessorNs(); }

std::uint64_t ProcessClock::Ticks() const { return net::Ticks(); }

double ProcessClock::NsPerTick() const {
  const std::uint64_t ticks = net::Ticks() - started_ticks_;
  const std::uint64_t ns = net::MonotonicNs() - started_ns_;
  return ticks == 0 ? 1 : static_cast<double>(ns) / static_cast<double>(ticks);
}

}  // namespace fairlock::server
