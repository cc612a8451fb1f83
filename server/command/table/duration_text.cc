#include "server/command/table/duration_text.h"

#include <algorithm>
#include <array>

#include "server/command/table/text.h"
#include "server/record/history_record.h"

namespace fairlock::command {

namespace {

struct DurationUnit {
  std::string_view name;
  engine::DurationMs ms;
};

// In ascending order.
constexpr auto kDurationTable = std::to_array<DurationUnit>(
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}});

}  // namespace

std::optional<DurationText> ParseDuration(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view name = text.substr(digits);
  const auto number = ParseInteger(text.substr(0, digits));
  if (!number) return std::nullopt;
  for (const DurationUnit& unit : kDurationTable) {
    if (!name.empty() && !EqualsIgnoreCase(name, unit.name)) continue;
    if (*number >= engine::kForever / unit.ms) return std::nullopt;
    return DurationText{.ms = *number * unit.ms, .has_unit = !name.empty()};
  }
  return std::nullopt;
}

std::optional<engine::TimeMs> ParseMoment(std::string_view text, engine::TimeMs now,
                                          std::int64_t unix_now_ms) {
  const auto number = ParseDuration(text);
  if (!number) return std::nullopt;
  if (number->has_unit) return std::max(now - number->ms, record::kLongAgo);
  return std::clamp(now - unix_now_ms + number->ms, record::kLongAgo, engine::kNever);
}

std::string MomentForms() {
  return "a time: Unix milliseconds, or how long ago, such as 90s, with " +
         std::string(kDurationUnits);
}

std::string FormatDuration(engine::DurationMs duration_ms) {
  if (duration_ms == 0) return "0";
  const DurationUnit* best = &kDurationTable.front();
  for (const DurationUnit& unit : kDurationTable) {
    if (duration_ms % unit.ms == 0) best = &unit;
  }
  return std::to_string(duration_ms / best->ms) + std::string(best->name);
}

}  // namespace fairlock::command
