#include "cli/output/duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

#include "text/local_time.h"

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

}  // namespace fairlock::cli
