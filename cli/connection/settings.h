// Which server to connect to, as which user, and how.
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
  std::string host = "127.0.0.1";  // or a list, as ParseServers reads it
  std::uint16_t port = 3247;       // for servers that are listed without a port
  std::string socket;  // path of a unix socket; if not empty, it overrides host and port
  std::string user;    // empty means the default user
  std::string password_file;
  std::optional<int> database;  // none means 0, or all for commands that list many locks
  // TLS applies only to TCP, not to a unix socket.
  bool is_tls = false;
  std::string tls_ca_file;       // empty means the system's certificate authorities
  std::string tls_cert_file;     // the client's certificate; empty if there is none
  std::string tls_key_file;      // empty if there is none
  std::string tls_server_name;   // empty means the host
  bool tls_insecure = false;     // accept any server certificate
  DurationMs timeout_ms = 5000;  // for connecting, and for each immediate reply

  int database_or_first() const { return database.value_or(0); }
};

// One setting's value from one source; `origin` names the source in messages.
struct GivenSetting {
  std::string value;
  std::string origin;
};

// One setting. `name` is its key in ctl.yaml; the names of the flag and the environment variable
// are derived from it.
struct SettingRow {
  std::string_view name;
  std::string_view letter;  // an alternative flag such as "-p"; empty if there is none
  std::string_view help;
  std::string_view allowed;  // describes the allowed values, for errors
  bool (*set)(std::string_view value, Settings& settings);
  bool is_switch = false;  // on the command line it takes no value
};

std::span<const SettingRow> AllSettings();

std::string FlagName(const SettingRow& row);         // "--password-file"
std::string EnvironmentName(const SettingRow& row);  // "FAIRLOCK_PASSWORD_FILE"

// Returns a source's value for a row of AllSettings(), or nullopt.
using SettingSource = std::function<std::optional<GivenSetting>(const SettingRow& row)>;

// Merges the sources over the defaults; later sources override earlier ones. A source that gives a
// host or a port selects TCP, even if an earlier source gave a socket.
Result<Settings> MergeSettings(std::span<const SettingSource> sources);

// Reads settings from environment variables.
SettingSource EnvironmentSource(std::function<const char*(const char* name)> read_variable);

}  // namespace fairlock::cli
