// Where the server is, and as whom we speak to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/base/clock.h"
#include "cli/base/result.h"

namespace fairlock::cli {

struct Settings {
  std::string host = "127.0.0.1";
  std::uint16_t port = 3247;
  std::string socket;  // path of a unix socket; goes before host and port if not empty
  std::string user;    // empty: the default user
  std::string password_file;
  std::optional<int> database;  // none: 0, or all where a command looks at all
  // TLS, unless the socket is a unix socket.
  bool is_tls = false;
  std::string tls_ca_file;    // empty: the authorities that this machine knows
  std::string tls_cert_file;  // ours; empty, as the next one: none
  std::string tls_key_file;
  std::string tls_server_name;   // empty: the host
  bool tls_insecure = false;     // whoever answers is believed
  DurationMs timeout_ms = 5000;  // for a connection, and for each answer that comes at once

  int database_or_first() const { return database.value_or(0); }
};

// What one source says about one setting; `origin` names the place in messages.
struct GivenSetting {
  std::string value;
  std::string origin;
};

// One setting: its name in ctl.yaml; the others follow from it.
struct SettingRow {
  std::string_view name;
  std::string_view letter;  // its other flag, "-p"; empty: none
  std::string_view help;
  std::string_view right;  // which values would be right
  bool (*set)(std::string_view value, Settings& settings);
  bool is_switch = false;  // as a flag it needs no value
};

std::span<const SettingRow> AllSettings();

std::string FlagName(const SettingRow& row);         // "--password-file"
std::string EnvironmentName(const SettingRow& row);  // "FAIRLOCK_PASSWORD_FILE"

// By row of AllSettings(): what one source gives; none where it is silent.
using SettingSource = std::function<std::optional<GivenSetting>(const SettingRow& row)>;

// Puts sources over the defaults; a later source goes before an earlier one. A source that gives a
// host or a port means TCP, whatever socket an earlier one gave.
Result<Settings> MergeSettings(std::span<const SettingSource> sources);

// What the environment variables give.
SettingSource EnvironmentSource(std::function<const char*(const char* name)> read_variable);

}  // namespace fairlock::cli
