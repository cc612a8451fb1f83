// The only file of fairlockctl that reads a clock.
#pragma once

#include <cstdint>

namespace fairlock::cli {

using TimeMs = std::int64_t;
using DurationMs = std::int64_t;

inline constexpr DurationMs kForever = INT64_MAX / 4;

// Monotonic; keeps counting while the machine sleeps, as leases do.
TimeMs NowMs();
std::int64_t NowNs();

// Wall-clock time, to show to people and to build names from.
std::int64_t UnixTimeMs();

}  // namespace fairlock::cli
