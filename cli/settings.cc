#include "cli/settings.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/duration.h"
#include "cli/printable.h"

namespace fairlock::cli {

namespace {

constexpr int kDatabases = 16;

std::optional<int> ParseNumber(std::string_view text, int low, int high) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || number < low || number > high) return std::nullopt;
  return number;
}

bool SetHost(std::string_view value, Settings& settings) {
  settings.host = value;
  return !value.empty();
}

bool SetPort(std::string_view value, Settings& settings) {
  const auto port = ParseNumber(value, 1, 65'535);
  if (port) settings.port = static_cast<std::uint16_t>(*port);
  return port.has_value();
}

bool SetSocket(std::string_view value, Settings& settings) {
  settings.socket = value;
  return true;
}

bool SetUser(std::string_view value, Settings& settings) {
  settings.user = value;
  return true;
}

bool SetPasswordFile(std::string_view value, Settings& settings) {
  settings.password_file = value;
  return true;
}

bool SetDatabase(std::string_view value, Settings& settings) {
  settings.database = ParseNumber(value, 0, kDatabases - 1);
  return settings.database.has_value();
}

bool SetTimeout(std::string_view value, Settings& settings) {
  const auto timeout_ms = ParseDuration(value);
  settings.timeout_ms = timeout_ms.value_or(0);
  return settings.timeout_ms > 0;
}

constexpr auto kSettings = std::to_array<SettingRow>({
    {"host", "-H", "Name or address of the server", "a name or an address", SetHost},
    {"port", "-p", "Its TCP port", "a number from 1 to 65535", SetPort},
    {"socket", "", "Path of its unix socket; goes before host and port", "a path", SetSocket},
    {"user", "-u", "Who you are for the server", "a name", SetUser},
    {"password_file", "", "A file whose first line is the password", "a path", SetPasswordFile},
    {"db", "-d", "The database; without it 0, or all where a command looks at many locks",
     "a number from 0 to 15", SetDatabase},
    {"timeout", "-t", "How long to wait for a connection, and for an answer", kRightDuration,
     SetTimeout},
});

bool MeansTcp(const SettingRow& row) { return row.name == "host" || row.name == "port"; }

// An empty text: done; else what is wrong.
std::string Apply(const SettingSource& source, Settings& settings) {
  for (const SettingRow& row : kSettings) {
    const auto given = source(row);
    if (!given) continue;
    if (!row.set(given->value, settings)) {
      return given->origin + ": " + Quoted(given->value) + " is wrong; " + std::string(row.right) +
             " would be right";
    }
    // The rows of TCP stand before that of the socket, so one given beside them still counts.
    if (MeansTcp(row)) settings.socket.clear();
  }
  return "";
}

}  // namespace

std::span<const SettingRow> AllSettings() { return kSettings; }

std::string FlagName(const SettingRow& row) {
  std::string name = "--" + std::string(row.name);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string EnvironmentName(const SettingRow& row) {
  std::string name = "FAIRLOCK_" + std::string(row.name);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

Result<Settings> MergeSettings(std::span<const SettingSource> sources) {
  Settings settings;
  for (const SettingSource& source : sources) {
    const std::string wrong = Apply(source, settings);
    if (!wrong.empty()) return Failure{kExitWrongUse, wrong};
  }
  return settings;
}

SettingSource EnvironmentSource(std::function<const char*(const char* name)> read_variable) {
  return [read = std::move(read_variable)](const SettingRow& row) -> std::optional<GivenSetting> {
    const std::string name = EnvironmentName(row);
    const char* const value = read(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return GivenSetting{value, name};
  };
}

}  // namespace fairlock::cli
