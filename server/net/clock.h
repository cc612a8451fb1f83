// The clocks of this machine. What the engine and the commands know of the time comes from here.
#pragma once

#include <cstdint>

namespace fairlock::net {

// Milliseconds since boot, including suspended time. Never goes back, and is not affected by steps
// of the wall clock.
std::int64_t BoottimeMs();

// With true, BoottimeMs stands still from now on, so that no lease expires; with false, it
// continues from where it stood. A leader of a fleet holds it while etcd confirms no write. Only
// the loop's thread may call this; other threads may read the clock at the same time.
void HoldBoottime(bool is_held);

// Like BoottimeMs, but is never held. Thread-safe.
std::int64_t MachineBoottimeMs();

// A clock that never goes back, for measuring durations.
std::uint64_t MonotonicNs();

// The processor time of this thread, which stands still while other threads and programs run.
std::uint64_t ProcessorNs();

// The time stamp counter of the processor. Reading it takes a third of the time of MonotonicNs,
// which is used instead if the counter does not run at a constant rate. The caller must measure the
// length of a tick. The counter of another processor may be slightly behind.
std::uint64_t Ticks();

// The wall clock in microseconds, for display only.
std::int64_t UnixTimeUs();

}  // namespace fairlock::net
