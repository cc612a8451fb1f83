// The table of options: one row each, from which the file, the command line, CONFIG and all of
// their documentation come.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/config/config.h"

namespace fairlock::server {

enum class OptionType : std::uint8_t {
  kNumber,
  kDuration,     // Config has milliseconds
  kSeconds,      // the same, but whole seconds
  kSize,         // Config has bytes
  kPermissions,  // octal
  kText,
  kList,
  kLabelRules,  // a list that may be empty
  kKeepRules,
  kChoice,
  kKeyEvents,  // letters as Redis has them; Config has command::KeyEventClasses
};

struct Option {
  // As in the file; on the command line with `--` before it and `-` for each `_`.
  std::string_view name;
  OptionType type;
  std::string_view default_value;
  std::int64_t min;  // these two: kNumber to kPermissions, kKeyEvents
  std::int64_t max;
  bool is_changeable;  // while the server runs, by CONFIG SET
  // Under which CONFIG knows it too; empty: none.
  std::string_view redis_name;
  std::variant<std::int64_t Config::*, std::string Config::*, std::vector<std::string> Config::*>
      member;
  std::string_view comment;
  std::span<const std::string_view> choices = {};  // kChoice
  bool is_secret = false;                          // its values are not logged
};

std::span<const Option> AllOptions();

// Its value is several texts.
inline bool IsList(const Option& option) {
  return std::holds_alternative<std::vector<std::string> Config::*>(option.member);
}

// By its own name; null: there is none.
const Option* FindOption(std::string_view name);

// The existing name that was probably meant; empty: none is near.
std::string_view NearestOptionName(std::string_view name);

// Empty: done. Else what would be right: "a number from 1 to 1000000".
[[nodiscard]] std::string SetOption(const Option& option, std::string_view value, Config& config);

// The value as SetOption takes it.
std::string ShowOption(const Option& option, const Config& config);

// The value as Redis shows it: durations in seconds, sizes in bytes, lists with blanks.
std::string ShowOptionAsRedis(const Option& option, const Config& config);

// Which values are right: "a number from 1 to 1000000".
std::string DescribeValues(const Option& option);

// What CONFIG SET answers to a wrong value.
std::string DescribeMistake(const Option& option, std::string_view value);

// "--max-clients" for max_clients.
std::string CommandLineName(std::string_view option_name);

}  // namespace fairlock::server
