// Parses and formats durations and points in time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/base/clock.h"

namespace fairlock::cli {

inline constexpr std::string_view kDurationForms = "a duration such as 500ms, 30s, 1h30m or 2d";

// Parses one or more numbers, each with a unit (ms, s, m, h, d), largest unit first (`1h30m`). The
// last number may have a fraction (`1.5s`). Only 0 needs no unit. Returns nullopt for anything
// else.
std::optional<DurationMs> ParseDuration(std::string_view text);

// At most two units: 412ms, 4.2s, 1m32s, 3h04m, 2d05h. Truncates; never rounds up.
std::string ShowDuration(DurationMs duration_ms);

// Formats a Unix time as local time: "2026-11-21 15:04:42".
std::string ShowMoment(std::int64_t unix_ms);

// Formats the time of day as "HH:MM:SS.mmm", in local time.
std::string ShowTimeOfDay(std::int64_t unix_ms);

}  // namespace fairlock::cli
