#include "server/config/config_options.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>

#include "server/command/pubsub/key_events.h"
#include "server/command/table/nearest_word.h"
#include "server/command/table/text.h"
#include "server/config/config_values.h"

namespace fairlock::server {

namespace {

constexpr std::int64_t kMsPerSecond = 1000;

std::optional<std::int64_t> ParseAs(OptionType type, std::string_view text) {
  switch (type) {
    case OptionType::kNumber:
      return command::ParseInteger(text);
    case OptionType::kDuration:
      return ParseDurationMs(text);
    case OptionType::kSeconds: {
      const auto duration_ms = ParseDurationMs(text);
      return duration_ms && *duration_ms % kMsPerSecond == 0 ? duration_ms : std::nullopt;
    }
    case OptionType::kSize:
      return ParseBytes(text);
    case OptionType::kPermissions:
      return ParsePermissions(text);
    case OptionType::kKeyEvents:
      return command::ParseKeyEventClasses(text);
    default:
      return std::nullopt;
  }
}

std::string FormatAs(OptionType type, std::int64_t value) {
  switch (type) {
    case OptionType::kDuration:
    case OptionType::kSeconds:
      return FormatDurationMs(value);
    case OptionType::kSize:
      return FormatBytes(value);
    case OptionType::kPermissions:
      return FormatPermissions(value);
    case OptionType::kKeyEvents:
      return command::FormatKeyEventClasses(static_cast<command::KeyEventClasses>(value));
    default:
      return std::to_string(value);
  }
}

bool AreRight(OptionType type, const std::vector<std::string>& parts) {
  if (type == OptionType::kLabelRules) {
    return std::ranges::all_of(parts,
                               [](const auto& part) { return ParseLabelRule(part).has_value(); });
  }
  if (parts.empty()) return false;
  if (type != OptionType::kKeepRules) return true;
  return std::ranges::all_of(parts,
                             [](const auto& part) { return ParseKeepRule(part).has_value(); });
}

template <typename Text>
std::string Join(std::span<const Text> parts, std::string_view separator) {
  std::string joined;
  for (const Text& part : parts) {
    if (!joined.empty()) joined += separator;
    joined += part;
  }
  return joined;
}

// Each ReadValue returns whether the text is a right value, each ShowValue the text of a value.

bool ReadValue(const Option& option, std::string_view text, std::int64_t& value) {
  const auto number = ParseAs(option.type, text);
  if (!number || *number < option.min || *number > option.max) return false;
  value = *number;
  return true;
}

bool ReadValue(const Option&, std::string_view text, std::string& value) {
  value = text;
  return true;
}

bool ReadValue(const Option& option, std::string_view text, std::vector<std::string>& value) {
  std::vector<std::string> parts = SplitList(text);
  if (!AreRight(option.type, parts)) return false;
  value = std::move(parts);
  return true;
}

template <typename Choice>
bool ReadValue(const Option& option, std::string_view text, Choice& value) {
  const auto found = std::ranges::find(option.choices, text);
  if (found == option.choices.end()) return false;
  value = static_cast<Choice>(found - option.choices.begin());
  return true;
}

std::string ShowValue(const Option& option, std::int64_t value) {
  return FormatAs(option.type, value);
}

std::string ShowValue(const Option&, const std::string& value) { return value; }

std::string ShowValue(const Option&, const std::vector<std::string>& value) {
  return Join(std::span(value), ", ");
}

template <typename Choice>
std::string ShowValue(const Option& option, Choice value) {
  return std::string(option.choices[static_cast<std::size_t>(value)]);
}

}  // namespace

const Option* FindOption(std::string_view name) {
  const std::span<const Option> options = AllOptions();
  const auto found = std::ranges::find(options, name, &Option::name);
  return found == options.end() ? nullptr : &*found;
}

std::string_view NearestOptionName(std::string_view name) {
  command::NearestWord nearest(name);
  for (const Option& option : AllOptions()) {
    if (name == option.redis_name) return option.name;
    nearest.Try(option.name);
  }
  return nearest.found();
}

std::string SetOption(const Option& option, std::string_view value, Config& config) {
  const bool is_right = std::visit(
      [&](auto member) { return ReadValue(option, value, config.*member); }, option.member);
  return is_right ? "" : DescribeValues(option);
}

std::string ShowOption(const Option& option, const Config& config) {
  return std::visit([&](auto member) { return ShowValue(option, config.*member); }, option.member);
}

std::string ShowOptionAsRedis(const Option& option, const Config& config) {
  if (const auto* list = std::get_if<std::vector<std::string> Config::*>(&option.member)) {
    return Join(std::span<const std::string>(config.*(*list)), " ");
  }
  const auto* number = std::get_if<std::int64_t Config::*>(&option.member);
  if (number == nullptr) return ShowOption(option, config);
  switch (option.type) {
    case OptionType::kDuration:
    case OptionType::kSeconds:
      return std::to_string(config.*(*number) / kMsPerSecond);
    case OptionType::kSize:
      return std::to_string(config.*(*number));
    case OptionType::kPermissions:
      return FormatPermissions(config.*(*number)).substr(1);
    default:
      return ShowOption(option, config);
  }
}

std::string DescribeValues(const Option& option) {
  const auto range = [&] {
    return " from " + FormatAs(option.type, option.min) + " to " +
           FormatAs(option.type, option.max);
  };
  switch (option.type) {
    case OptionType::kNumber:
      return "a number" + range();
    case OptionType::kDuration:
      return "a duration (ms, s, m, h, d)" + range();
    case OptionType::kSeconds:
      return "a duration of whole seconds (s, m, h, d)" + range();
    case OptionType::kSize:
      return "a size (b, kb, mb, gb)" + range();
    case OptionType::kPermissions:
      return "octal permissions" + range();
    case OptionType::kText:
    case OptionType::kFile:
      return "a text";
    case OptionType::kList:
      return "one or more values separated by commas";
    case OptionType::kLabelRules:
      return "GLOB=LABEL pairs separated by commas, a glob of 1 to 1024 bytes and a label of 1 to "
             "64 of A-Z a-z 0-9 _ . : -";
    case OptionType::kKeepRules:
      return "a duration (ms, s, m, h, d) for all keys, or GLOB=DURATION pairs separated by "
             "commas, a glob of 1 to 1024 bytes and a duration up to " +
             FormatDurationMs(kKeepRuleMsMax);
    case OptionType::kChoice:
      return "one of " + Join(option.choices, ", ");
    case OptionType::kKeyEvents:
      return "letters of Ag$lshzxeKEtmdn";
  }
  return "";
}

std::string DescribeMistake(const Option& option, std::string_view value) {
  // Has the wording of Redis, because some clients set this option themselves.
  if (option.type == OptionType::kKeyEvents) {
    return "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
  }
  return "must be " + DescribeValues(option) + ", got " + command::Quoted(value);
}

std::string CommandLineName(std::string_view option_name) {
  std::string name = "--" + std::string(option_name);
  std::ranges::replace(name, '_', '-');
  return name;
}

Config DefaultConfig() {
  Config config;
  for (const Option& option : AllOptions()) {
    const std::string wrong = SetOption(option, option.default_value, config);
    assert(wrong.empty());
  }
  return config;
}

}  // namespace fairlock::server
