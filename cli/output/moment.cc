#include "cli/output/moment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "cli/output/duration.h"
#include "text/number.h"

namespace fairlock::cli {

namespace {

constexpr std::int64_t kMinuteMs = 60'000;
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
  return std::int64_t{timegm(&moment)} * 1000 + time->ms - *zone_minutes * kMinuteMs;
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
