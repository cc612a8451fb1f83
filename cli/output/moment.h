// Parses points in time as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlock::cli {

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
