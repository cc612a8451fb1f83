// The only place of the tool that reads a clock.
#pragma once

#include <cstdint>

namespace fairlock::cli {

using TimeMs = std::int64_t;
using DurationMs = std::int64_t;

inline constexpr DurationMs kForever = INT64_MAX / 4;

// Never goes back, and goes on while the machine sleeps, as leases do.
TimeMs NowMs();
std::int64_t NowNs();

// Of the wall clock: for reading by people, and for names.
std::int64_t UnixTimeMs();

}  // namespace fairlock::cli
