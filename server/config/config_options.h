// The table of options, one row each. The configuration file, the command line, CONFIG and their
// documentation are derived from it.
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
  kDuration,     // milliseconds in Config
  kSeconds,      // whole seconds; milliseconds in Config
  kSize,         // bytes in Config
  kPermissions,  // octal
  kText,
  kFile,  // the path of a file whose content the server trusts; otherwise like kText
  kList,
  kLabelRules,  // a list that may be empty
  kKeepRules,
  kChoice,     // a bool or an enum in Config: the index of the word in `choices`
  kKeyEvents,  // event classes as Redis letters; stored in Config as command::KeyEventClasses
};

struct Option {
  // The name in the file. The command line adds the prefix `--` and replaces each `_` with `-`.
  std::string_view name;
  OptionType type;
  std::string_view default_value;
  std::int64_t min;  // min and max apply to the types kNumber to kPermissions, and to kKeyEvents
  std::int64_t max;
  bool is_changeable;  // by CONFIG SET, while the server runs
  // A second name that CONFIG accepts; empty: none.
  std::string_view redis_name;
  std::variant<std::int64_t Config::*, std::string Config::*, std::vector<std::string> Config::*,
               bool Config::*, net::ClientCertificates Config::*, persist::Durability Config::*,
               ClusterDialect Config::*, LogLevel Config::*>
      member;
  std::string_view comment;
  std::span<const std::string_view> choices = {};  // kChoice
  bool is_secret = false;                          // its values are not logged
};

std::span<const Option> AllOptions();

// Whether the value is a list of strings.
inline bool IsList(const Option& option) {
  return std::holds_alternative<std::vector<std::string> Config::*>(option.member);
}

// Looks up `name` among the options' own names; null if there is none.
const Option* FindOption(std::string_view name);

// The option name most similar to `name`; empty if none is similar.
std::string_view NearestOptionName(std::string_view name);

// Returns an empty string on success, otherwise the allowed values: "a number from 1 to 1000000".
[[nodiscard]] std::string SetOption(const Option& option, std::string_view value, Config& config);

// Returns the value in the form that SetOption accepts.
std::string ShowOption(const Option& option, const Config& config);

// Returns the value as Redis shows it: durations in seconds, sizes in bytes, lists separated by
// spaces.
std::string ShowOptionAsRedis(const Option& option, const Config& config);

// Returns the allowed values: "a number from 1 to 1000000".
std::string DescribeValues(const Option& option);

// Returns the error text of CONFIG SET for an invalid value.
std::string DescribeMistake(const Option& option, std::string_view value);

// Returns "--max-clients" for max_clients.
std::string CommandLineName(std::string_view option_name);

}  // namespace fairlock::server
