#include "server/config/config_values.h"

#include <array>
#include <charconv>
#include <limits>
#include <span>

#include "server/command/table/duration_text.h"
#include "server/command/table/text.h"
#include "server/engine/api/key_rules.h"
#include "text/number.h"

namespace fairlock::server {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t size;
};

// In ascending order.
constexpr std::array<Unit, 4> kSizes = {
    {{"b", 1}, {"kb", 1024}, {"mb", 1024 * 1024}, {"gb", 1024 * 1024 * 1024}}};

// Parses a non-negative number followed by one of `units`; nullopt on overflow.
std::optional<std::int64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units,
                                          std::string_view unit_if_none) {
  std::int64_t number = 0;
  const char* const text_end = text.data() + text.size();
  const auto [number_end, error] = std::from_chars(text.data(), text_end, number);
  if (error != std::errc() || number < 0) return std::nullopt;
  std::string_view name(number_end, static_cast<std::size_t>(text_end - number_end));
  if (name.empty()) name = number == 0 ? units.front().name : unit_if_none;
  for (const Unit& unit : units) {
    if (!command::EqualsIgnoreCase(name, unit.name)) continue;
    if (number > std::numeric_limits<std::int64_t>::max() / unit.size) return std::nullopt;
    return number * unit.size;
  }
  return std::nullopt;
}

std::string FormatWithUnit(std::int64_t value, std::span<const Unit> units) {
  if (value == 0) return "0";
  std::size_t best = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (value % units[i].size == 0) best = i;
  }
  return std::to_string(value / units[best].size) + std::string(units[best].name);
}

}  // namespace

std::optional<std::int64_t> ParseDurationMs(std::string_view text) {
  const auto duration = command::ParseDuration(text);
  const bool is_clear = duration && (duration->has_unit || duration->ms == 0);
  return is_clear ? std::optional(duration->ms) : std::nullopt;
}

std::string FormatDurationMs(std::int64_t duration_ms) {
  return command::FormatDuration(duration_ms);
}

std::optional<std::int64_t> ParseBytes(std::string_view text) {
  return ParseWithUnit(text, kSizes, "b");
}

std::string FormatBytes(std::int64_t bytes) { return FormatWithUnit(bytes, kSizes); }

std::optional<std::int64_t> ParsePermissions(std::string_view text) {
  const auto permissions = text::ParseNumber<std::int64_t>(text, 8);
  return permissions.value_or(-1) < 0 ? std::nullopt : permissions;
}

std::string FormatPermissions(std::int64_t permissions) {
  std::array<char, 24> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), permissions, 8);
  const std::string octal(digits.data(), result.ptr);
  return octal.size() < 4 ? std::string(4 - octal.size(), '0') + octal : octal;
}

std::optional<engine::LabelRule> ParseLabelRule(std::string_view text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string_view::npos || at == 0 || at > engine::kGlobBytesMax) return std::nullopt;
  const std::string_view label = text.substr(at + 1);
  if (!engine::IsLabel(label)) return std::nullopt;
  return engine::LabelRule{std::string(text.substr(0, at)), std::string(label)};
}

std::optional<engine::KeepRule> ParseKeepRule(std::string_view text) {
  const std::size_t at = text.rfind('=');
  const bool has_glob = at != std::string_view::npos;
  if (at == 0 || (has_glob && at > engine::kGlobBytesMax)) return std::nullopt;
  const auto keep_ms = ParseDurationMs(has_glob ? text.substr(at + 1) : text);
  if (!keep_ms || *keep_ms < 0 || *keep_ms > kKeepRuleMsMax) return std::nullopt;
  return engine::KeepRule{std::string(has_glob ? text.substr(0, at) : "*"), *keep_ms};
}

std::vector<std::string> SplitList(std::string_view text) {
  constexpr std::string_view kSeparators = ", \t";
  std::vector<std::string> parts;
  for (std::size_t begin = text.find_first_not_of(kSeparators); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kSeparators, end);
  }
  return parts;
}

bool IsLoopback(std::string_view address) {
  if (address.starts_with('-')) address.remove_prefix(1);
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

bool IsLocalSocket(std::string_view name) {
  return name.starts_with("127.") || name.starts_with("[::1]:") || name.starts_with("unix:");
}

}  // namespace fairlock::server
