#include "cli/output/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

#include "text/local_time.h"
#include "text/number.h"

namespace fairlock::cli {

namespace {

struct Unit {
  std::string_view name;
  DurationMs size_ms;
};

// Largest first.
constexpr std::array<Unit, 5> kUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

constexpr double kLongestMs = 1e15;

// Consumes an unsigned number without exponent from the front of `text`.
std::optional<double> ReadNumber(std::string_view& text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Consumes a unit from the front of `text`; returns its index in kUnits.
std::optional<std::size_t> ReadUnit(std::string_view& text) {
  const std::string_view letters = text.substr(0, text.find_first_of("0123456789."));
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (kUnits[i].name != letters) continue;
    text.remove_prefix(letters.size());
    return i;
  }
  return std::nullopt;
}

std::string TwoUnits(DurationMs duration_ms, const Unit& large, const Unit& small) {
  const DurationMs rest = duration_ms % large.size_ms / small.size_ms;
  return std::to_string(duration_ms / large.size_ms) + std::string(large.name) +
         (rest < 10 ? "0" : "") + std::to_string(rest) + std::string(small.name);
}

}  // namespace

std::optional<DurationMs> ParseDuration(std::string_view text) {
  if (text == "0") return 0;
  double sum_ms = 0;
  std::size_t next_unit = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto number = ReadNumber(text);
    const auto unit = number ? ReadUnit(text) : std::nullopt;
    if (!unit || *unit < next_unit) return std::nullopt;
    if (*number != std::floor(*number) && !text.empty()) return std::nullopt;
    next_unit = *unit + 1;
    sum_ms += *number * static_cast<double>(kUnits[*unit].size_ms);
  }
  if (sum_ms > kLongestMs) return std::nullopt;
  return std::llround(sum_ms);
}

std::string ShowDuration(DurationMs duration_ms) {
  if (duration_ms < 0) return "-" + ShowDuration(-duration_ms);
  if (duration_ms < 1000) return std::to_string(duration_ms) + "ms";
  if (duration_ms < 60'000) {
    const DurationMs tenths = duration_ms % 1000 / 100;
    return std::to_string(duration_ms / 1000) + (tenths > 0 ? "." + std::to_string(tenths) : "") +
           "s";
  }
  for (std::size_t i = 0; i + 1 < kUnits.size(); ++i) {
    if (duration_ms >= kUnits[i].size_ms) return TwoUnits(duration_ms, kUnits[i], kUnits[i + 1]);
  }
  return {};
}

std::string ShowMoment(std::int64_t unix_ms) {
  return text::LocalTime(unix_ms, "%Y-%m-%d %H:%M:%S");
}

std::string ShowTimeOfDay(std::int64_t unix_ms) {
  return text::LocalTime(unix_ms, "%H:%M:%S") + "." + text::Thousandths(unix_ms);
}

namespace {

constexpr std::int64_t kMsOfAMinute = 60'000;
constexpr std::int64_t kUnixMsMax = 253'402'300'799'999;  // the end of the year 9999

// Consumes exactly `digits` digits; nullopt if they are not there, or exceed the maximum.
std::optional<int> TakeNumber(std::string_view& text, std::size_t digits, int maximum) {
  const std::string_view number = text.substr(0, digits);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (number.size() < digits || !std::ranges::all_of(number, is_digit)) return std::nullopt;
  int value = 0;
  std::from_chars(number.data(), number.data() + digits, value);
  if (value > maximum) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

// Consumes one of these characters.
bool TakeOneOf(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

struct TimeOfDay {
  int hour = 0;
  int minute = 0;
  int second = 0;
  int ms = 0;
};

std::optional<TimeOfDay> TakeTime(std::string_view& text) {
  const auto hour = TakeNumber(text, 2, 23);
  if (!hour || !TakeOneOf(text, ":")) return std::nullopt;
  const auto minute = TakeNumber(text, 2, 59);
  if (!minute) return std::nullopt;
  TimeOfDay time{.hour = *hour, .minute = *minute};
  if (!TakeOneOf(text, ":")) return time;
  const auto second = TakeNumber(text, 2, 60);
  if (!second) return std::nullopt;
  time.second = *second;
  if (!TakeOneOf(text, ".")) return time;
  int scale = 100;
  while (const auto digit = TakeNumber(text, 1, 9)) {
    time.ms += *digit * scale;
    scale /= 10;
  }
  return time;
}

std::optional<std::tm> TakeDate(std::string_view& text) {
  const auto year = TakeNumber(text, 4, 9999);
  if (!year || !TakeOneOf(text, "-")) return std::nullopt;
  const auto month = TakeNumber(text, 2, 12);
  if (!month || *month == 0 || !TakeOneOf(text, "-")) return std::nullopt;
  const auto day = TakeNumber(text, 2, 31);
  if (!day || *day == 0) return std::nullopt;
  std::tm date{};
  date.tm_year = *year - 1900;
  date.tm_mon = *month - 1;
  date.tm_mday = *day;
  return date;
}

// The minutes east of UTC.
std::optional<int> ParseZone(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  const int sign = text.starts_with('-') ? -1 : 1;
  if (!TakeOneOf(text, "+-")) return std::nullopt;
  const auto hours = TakeNumber(text, 2, 14);
  TakeOneOf(text, ":");
  const auto minutes = TakeNumber(text, 2, 59);
  if (!hours || !minutes || !text.empty()) return std::nullopt;
  return sign * (*hours * 60 + *minutes);
}

std::tm With(std::tm date, const TimeOfDay& time) {
  date.tm_hour = time.hour;
  date.tm_min = time.minute;
  date.tm_sec = time.second;
  date.tm_isdst = -1;
  return date;
}

std::int64_t LocalMs(const std::tm& date, const TimeOfDay& time) {
  std::tm moment = With(date, time);
  return std::int64_t{std::mktime(&moment)} * 1000 + time.ms;
}

std::tm LocalDay(std::int64_t unix_ms, int days_before) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm day{};
  localtime_r(&seconds, &day);
  day.tm_mday -= days_before;
  return day;
}

std::optional<std::int64_t> ParseDated(std::string_view text) {
  const auto date = TakeDate(text);
  if (!date) return std::nullopt;
  if (text.empty()) return LocalMs(*date, {});
  if (!TakeOneOf(text, " Tt")) return std::nullopt;
  const auto time = TakeTime(text);
  if (!time) return std::nullopt;
  if (text.empty()) return LocalMs(*date, *time);
  const auto zone_minutes = ParseZone(text);
  if (!zone_minutes) return std::nullopt;
  std::tm moment = With(*date, *time);
  return std::int64_t{timegm(&moment)} * 1000 + time->ms - *zone_minutes * kMsOfAMinute;
}

std::optional<std::int64_t> ParseUnixMs(std::string_view text) {
  const auto number = text::ParseNumber<std::int64_t>(text);
  return number && *number >= 0 && *number <= kUnixMsMax ? number : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> ParseMoment(std::string_view text, std::int64_t unix_now_ms) {
  if (text == "now") return unix_now_ms;
  if (text == "today") return LocalMs(LocalDay(unix_now_ms, 0), {});
  if (text == "yesterday") return LocalMs(LocalDay(unix_now_ms, 1), {});
  if (const auto unix_ms = ParseUnixMs(text)) return unix_ms;
  if (const auto ago_ms = ParseDuration(text)) {
    return std::max<std::int64_t>(unix_now_ms - *ago_ms, 0);
  }
  if (const auto dated_ms = ParseDated(text)) return dated_ms;
  const auto time = TakeTime(text);
  if (!time || !text.empty()) return std::nullopt;
  const std::int64_t today_ms = LocalMs(LocalDay(unix_now_ms, 0), *time);
  return today_ms <= unix_now_ms ? today_ms : LocalMs(LocalDay(unix_now_ms, 1), *time);
}

}  // namespace fairlock::cli
