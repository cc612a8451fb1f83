// The resource usage of a process, as counted by the kernel.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace fairlock::bench {

// User and system CPU time of all current threads of the process, in nanoseconds.
std::uint64_t CpuNs(pid_t pid);

// Resident memory in bytes. Exact, unlike the kernel's cheaper counters, which lag by a few pages.
std::uint64_t ResidentBytes(pid_t pid);

// CLOCK_MONOTONIC, which all processes on a machine share.
std::uint64_t MonotonicNs();

}  // namespace fairlock::bench
