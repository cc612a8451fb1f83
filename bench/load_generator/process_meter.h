// What a process has used, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace fairlock::bench {

// Time on a CPU, user and system, of all threads that the process has now, in nanoseconds.
std::uint64_t CpuNs(pid_t pid);

// Resident bytes, exact (the cheaper counters of the kernel lag by some pages).
std::uint64_t ResidentBytes(pid_t pid);

// CLOCK_MONOTONIC, which all processes of a machine share.
std::uint64_t MonotonicNs();

}  // namespace fairlock::bench
