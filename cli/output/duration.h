// Durations and moments, as people write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/base/clock.h"

namespace fairlock::cli {

inline constexpr std::string_view kRightDuration = "a duration such as 500ms, 30s, 1h30m or 2d";

// One or more numbers, each with one of the units ms, s, m, h, d, the largest first (`1h30m`); the
// last may have a fraction (`1.5s`). Only 0 goes without a unit. None: it is something else.
std::optional<DurationMs> ParseDuration(std::string_view text);

// Short, at most two units: 412ms, 4.2s, 1m32s, 3h04m, 2d05h. Cut, never rounded up.
std::string ShowDuration(DurationMs duration_ms);

// A Unix time of the wall clock in local time: "2026-11-21 15:04:42".
std::string ShowMoment(std::int64_t unix_ms);

// "HH:MM:SS.mmm" of that moment, in local time.
std::string ShowTimeOfDay(std::int64_t unix_ms);

}  // namespace fairlock::cli
