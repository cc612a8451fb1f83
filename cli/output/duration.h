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

inline constexpr std::string_view kMomentForms =
    "a time: 2h (ago), 20:06, '2026-11-27 20:06:20', 2026-11-27, today, yesterday, now, or Unix "
    "milliseconds";

// The forms are: a duration, which means so long ago; HH:MM, HH:MM:SS or HH:MM:SS.mmm, of today,
// or of yesterday if it is later than now; a date, which means its midnight; a date and a time,
// with a space or a T between them, and perhaps a zone (Z, +02:00 or +0200) after them; today and
// yesterday, which mean midnight; now; and the number of milliseconds since 1970. Without a zone, a
// time is local. Returns Unix milliseconds; nullopt for anything else.
std::optional<std::int64_t> ParseMoment(std::string_view text, std::int64_t unix_now_ms);

}  // namespace fairlock::cli
