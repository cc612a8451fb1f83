// Points in time and lengths of time, in milliseconds.
#pragma once

#include <cstdint>

namespace fairlock::engine {

// Milliseconds of the clock that the caller reads; in the server, the time since boot. Never
// negative; never goes back.
using TimeMs = std::int64_t;
using DurationMs = std::int64_t;

// Later than every time: "no end", "forever".
inline constexpr TimeMs kNever = (TimeMs{1} << 44) - 1;
inline constexpr DurationMs kForever = kNever;

}  // namespace fairlock::engine
