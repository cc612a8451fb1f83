// The clocks of this machine; nothing else in the server reads one.
#pragma once

#include <cstdint>

namespace fairlock::net {

// Milliseconds since boot, time asleep included. Never goes back; steps of the wall clock do not
// touch it.
std::int64_t BoottimeMs();

// From now on BoottimeMs stands still, so that no lease runs down; with false it goes on from
// there. For the thread of the loop; others may read the clock meanwhile.
void HoldBoottime(bool is_held);

// A clock that never goes back, for how long something takes.
std::uint64_t MonotonicNs();

// The processor's counter of time, which takes a third as long to read as MonotonicNs; the same as
// MonotonicNs where there is none that counts evenly. How long a tick is, is to be measured. On
// another processor it may be slightly earlier.
std::uint64_t Ticks();

// The wall clock in microseconds, for showing only.
std::int64_t UnixTimeUs();

}  // namespace fairlock::net
