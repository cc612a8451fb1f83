// Reads and writes durations as text, with one set of units for requests, options and messages; and
// reads times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/engine/api/types.h"

namespace fairlock::command {

// The list of units for error messages.
inline constexpr std::string_view kDurationUnits = "ms, s, m, h or d";

struct DurationText {
  engine::DurationMs ms = 0;
  bool has_unit = false;  // false: the number is in milliseconds
};

// A duration without a unit that is not longer than this was probably meant in seconds.
inline constexpr engine::DurationMs kSuspectMsMax = 999;

// A duration that a request gave without a unit.
struct BareDuration {
  std::string_view option;
  engine::DurationMs ms = 0;  // 0: none
};

// Parses "500", "500ms", "30s", "5m", "2h" and "1d"; units are case-insensitive. Returns nullopt if
// the text is not a duration, or if the duration is negative or as long as engine::kForever.
std::optional<DurationText> ParseDuration(std::string_view text);

// Parses a time as requests give it: Unix milliseconds, or with a unit, how long ago. Returns the
// engine's time, at least record::kLongAgo; nullopt if the text is neither.
std::optional<engine::TimeMs> ParseMoment(std::string_view text, engine::TimeMs now,
                                          std::int64_t unix_now_ms);

// What ParseMoment accepts, for error messages.
std::string MomentForms();

// Uses the largest unit that gives a whole number; 0 has no unit.
std::string FormatDuration(engine::DurationMs duration_ms);

}  // namespace fairlock::command
