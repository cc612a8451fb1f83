// The clocks of this machine. Nothing else in the server reads a clock.
#pragma once

#include <cstdint>

namespace fairlock::net {

// Milliseconds since boot, including suspended time. Never goes back, and does not follow steps of
// the wall clock.
std::int64_t BoottimeMs();

// From now on BoottimeMs stands still, so that no lease runs down; with false, it continues from
// there. For the thread of the loop; others may read the clock meanwhile.
void HoldBoottime(bool is_held);

// A clock that never goes back, for measuring durations.
std::uint64_t MonotonicNs();

// The time stamp counter of the processor. Reading it takes a third of the time of MonotonicNs,
// which replaces it where the counter does not run at a constant rate. The caller must measure the
// length of a tick. The counter of another processor may be slightly behind.
std::uint64_t Ticks();

// The wall clock in microseconds, for display only.
std::int64_t UnixTimeUs();

}  // namespace fairlock::net
