#include "cli/connection/settings.h"

#include <algorithm>
#include <array>

#include "cli/connection/server_list.h"
#include "cli/output/duration.h"
#include "cli/output/printable.h"
#include "text/number.h"

namespace fairlock::cli {

namespace {

constexpr int kDatabases = 16;

std::optional<int> ParseNumber(std::string_view text, int low, int high) {
  const auto number = text::ParseNumber<int>(text);
  return number && *number >= low && *number <= high ? number : std::nullopt;
}

bool SetHost(std::string_view value, Settings& settings) {
  settings.host = value;
  return ParseServers(value).has_value();
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

std::optional<bool> ParseYesNo(std::string_view text) {
  // CLI11 passes "true" for a flag without a value.
  if (text == "yes" || text == "true") return true;
  if (text == "no" || text == "false") return false;
  return std::nullopt;
}

bool SetTls(std::string_view value, Settings& settings) {
  const auto is_tls = ParseYesNo(value);
  settings.is_tls = is_tls.value_or(false);
  return is_tls.has_value();
}

bool SetTlsInsecure(std::string_view value, Settings& settings) {
  const auto is_insecure = ParseYesNo(value);
  settings.tls_insecure = is_insecure.value_or(false);
  settings.is_tls = settings.is_tls || settings.tls_insecure;
  return is_insecure.has_value();
}

// Any TLS option implies --tls, so that nothing is sent in plain text by mistake.
template <std::string Settings::*kMember>
bool SetTlsText(std::string_view value, Settings& settings) {
  settings.*kMember = value;
  settings.is_tls = settings.is_tls || !value.empty();
  return true;
}

constexpr auto kSettings = std::to_array<SettingRow>({
    {"host", "-H",
     "Server: HOST, HOST:PORT or [IPV6]:PORT; several, separated by commas, for a fleet",
     "a name or an address with or without a port, or up to 32 separated by commas", SetHost},
    {"port", "-p", "TCP port of the server", "a number from 1 to 65535", SetPort},
    {"socket", "", "Path of the server's unix socket; overrides host and port", "a path",
     SetSocket},
    {"user", "-u", "User to log in as", "a name", SetUser},
    {"password_file", "", "File whose first line is the password", "a path", SetPasswordFile},
    {"db", "-d", "Database (0; commands that list many locks cover all databases)",
     "a number from 0 to 15", SetDatabase},
    {"tls_ca_file", "--cacert", "TLS: PEM file of the certificate authorities to trust", "a path",
     SetTlsText<&Settings::tls_ca_file>},
    {"tls_cert_file", "--cert", "TLS: PEM file of your certificate", "a path",
     SetTlsText<&Settings::tls_cert_file>},
    {"tls_key_file", "--key", "TLS: PEM file of your certificate's key, not encrypted", "a path",
     SetTlsText<&Settings::tls_key_file>},
    {"tls_server_name", "--sni", "TLS: name in the server's certificate (the host)",
     "a name or an address", SetTlsText<&Settings::tls_server_name>},
    {"tls_insecure", "--insecure", "TLS: accept any server certificate", "yes or no",
     SetTlsInsecure, true},
    // Must follow the other TLS settings, so that an explicit `no` overrides what they imply.
    {"tls", "", "Use TLS; every other TLS option implies it", "yes or no", SetTls, true},
    {"timeout", "-t", "How long to wait for a connection, and for a reply (5s)", kDurationForms,
     SetTimeout},
});

bool IsTcpSetting(const SettingRow& row) { return row.name == "host" || row.name == "port"; }

// Returns an error, or an empty string.
std::string Apply(const SettingSource& source, Settings& settings) {
  for (const SettingRow& row : kSettings) {
    const auto given = source(row);
    if (!given) continue;
    if (!row.set(given->value, settings)) {
      return given->origin + " must be " + std::string(row.allowed) + ", got " +
             Quoted(given->value);
    }
    // TCP rows precede the socket row, so a socket from the same source still wins.
    if (IsTcpSetting(row)) settings.socket.clear();
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
