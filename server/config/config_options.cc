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

constexpr std::int64_t kMs = 1;
constexpr std::int64_t kSecond = 1000 * kMs;
constexpr std::int64_t kDay = 24 * 3600 * kSecond;
constexpr std::int64_t kKb = 1024;
constexpr std::int64_t kMb = 1024 * kKb;
constexpr std::int64_t kGb = 1024 * kMb;
constexpr std::int64_t kCountMax = 1'000'000'000'000;

constexpr std::array<std::string_view, 4> kLogLevels = {"debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 2> kNoYes = {"no", "yes"};
constexpr std::array<std::string_view, 3> kAuthClients = {"no", "optional", "required"};
constexpr std::array<std::string_view, 2> kCertificateUsers = {"no", "cn"};
constexpr std::array<std::string_view, 3> kDurabilities = {"none", "async", "sync"};

constexpr auto kOptions = std::to_array<Option>({
    {"port", OptionType::kNumber, "3247", 0, 65535, false, "port", &Config::port,
     "TCP port for clients. 0: no TCP."},
    {"bind", OptionType::kList, "127.0.0.1, -::1", 0, 0, false, "bind", &Config::bind,
     "Addresses to listen on; * is every address. With a - in front it may be missing on this "
     "machine."},
    {"unix_socket", OptionType::kText, "", 0, 0, false, "unixsocket", &Config::unix_socket,
     "Path of a unix socket for clients. Empty: none."},
    {"unix_socket_permissions", OptionType::kPermissions, "0700", 0, 0777, false, "unixsocketperm",
     &Config::unix_socket_permissions, "Who may connect to the unix socket, as chmod says it."},
    {"max_clients", OptionType::kNumber, "10000", 1, 1'000'000, true, "maxclients",
     &Config::max_clients,
     "Connections at the same time; more are refused. Lowered to what the limit on open files "
     "leaves."},
    {"max_clients_per_address", OptionType::kNumber, "0", 0, 1'000'000, true, "",
     &Config::max_clients_per_address,
     "Connections of one address (of IPv6: of one /64) at the same time, handshakes of TLS too; "
     "more are refused. A unix socket has none. 0: any number."},
    {"tcp_backlog", OptionType::kNumber, "511", 1, 65535, false, "tcp-backlog",
     &Config::tcp_backlog,
     "Connections that may wait to be accepted; the kernel cuts it to net.core.somaxconn."},
    {"tcp_keepalive", OptionType::kSeconds, "5m", 0, kDay, false, "tcp-keepalive",
     &Config::tcp_keepalive,
     "After so much silence a client's machine is asked whether it lives; after half of "
     "tcp_user_timeout, if that is less. 0: never."},
    {"tcp_user_timeout", OptionType::kDuration, "1m", 0, kDay, false, "", &Config::tcp_user_timeout,
     "How long sent bytes, or questions whether it lives, may stay unanswered by a client's "
     "machine until the connection counts as lost. 0: as long as the kernel tries."},
    {"tls_port", OptionType::kNumber, "0", 0, 65535, false, "tls-port", &Config::tls_port,
     "TCP port for clients that speak TLS, on the addresses of bind; with port 0 it is the only "
     "one. 0: none."},
    {"tls_cert_file", OptionType::kText, "", 0, 0, false, "tls-cert-file", &Config::tls_cert_file,
     "The server's certificate, in PEM, with those between it and the root behind it. Read again "
     "at SIGHUP, as the next two are."},
    {"tls_key_file", OptionType::kText, "", 0, 0, false, "tls-key-file", &Config::tls_key_file,
     "The certificate's key, in PEM, without a password."},
    {"tls_ca_file", OptionType::kText, "", 0, 0, false, "tls-ca-cert-file", &Config::tls_ca_file,
     "The certificates, in PEM, of those who vouch for clients."},
    {"tls_auth_clients", OptionType::kChoice, "no", 0, 0, false, "", &Config::tls_auth_clients,
     "Whether clients of tls_port must show a certificate. optional: they may, and a wrong one is "
     "refused.",
     kAuthClients},
    {"tls_auth_clients_user", OptionType::kChoice, "no", 0, 0, false, "tls-auth-clients-user",
     &Config::tls_auth_clients_user,
     "cn: a client whose certificate has the common name of a user is that user from the start, as "
     "after AUTH; of another name it is who it would be without certificate.",
     kCertificateUsers},
    {"tls_ciphers", OptionType::kText, "ECDHE+AESGCM:ECDHE+CHACHA20", 0, 0, false, "tls-ciphers",
     &Config::tls_ciphers, "Ciphers of TLS 1.2, as OpenSSL names them; empty: its own choice."},
    {"tls_ciphersuites", OptionType::kText, "", 0, 0, false, "tls-ciphersuites",
     &Config::tls_ciphersuites, "Ciphers of TLS 1.3; empty: OpenSSL's own choice."},
    {"tls_handshake_timeout", OptionType::kDuration, "10s", 100 * kMs, 10 * 60 * kSecond, false, "",
     &Config::tls_handshake_timeout,
     "Who has not finished the handshake of TLS after so long is closed."},
    {"tls_max_handshakes", OptionType::kNumber, "1000", 1, 100'000, false, "",
     &Config::tls_max_handshakes,
     "Handshakes of TLS at the same time, beside max_clients; more wait in the kernel, and who has "
     "sent nothing for half a second makes room for them."},
    {"http_port", OptionType::kNumber, "3248", 0, 65535, false, "", &Config::http_port,
     "TCP port for metrics, the HTTP API and the page of the operator. 0: none of them."},
    {"http_bind", OptionType::kList, "127.0.0.1, -::1", 0, 0, false, "", &Config::http_bind,
     "Addresses to listen on for HTTP. If others can reach one, http_token_file is needed."},
    {"http_hosts", OptionType::kList, "localhost", 0, 0, false, "", &Config::http_hosts,
     "Names by which browsers may call this server, besides numeric addresses."},
    {"http_token_file", OptionType::kText, "", 0, 0, false, "", &Config::http_token_file,
     "A file with one word, at least 16 characters: who presents it may change things over HTTP. "
     "Empty: only users with a password may, what they may by commands."},
    {"http_tls", OptionType::kChoice, "no", 0, 0, false, "", &Config::http_tls,
     "Whether http_port speaks HTTPS, with the certificate of tls_cert_file. Clients need none "
     "there.",
     kNoYes},
    {"http_max_clients", OptionType::kNumber, "100", 1, 10'000, false, "",
     &Config::http_max_clients, "HTTP connections at the same time; the idle ones give way."},
    {"requirepass",
     OptionType::kText,
     "",
     0,
     0,
     true,
     "requirepass",
     &Config::requirepass,
     "Password of the user default, who may do everything: the text, or what `fairlockd "
     "--hash-password` prints. Empty: that user needs none, unless acl_file says otherwise.",
     {},
     true},
    {"acl_file", OptionType::kText, "", 0, 0, false, "aclfile", &Config::acl_file,
     "A file with users, their passwords and what they may do; SIGHUP and ACL LOAD read it anew. "
     "Empty: there is only the user default."},
    {"allow_open_bind", OptionType::kChoice, "no", 0, 0, true, "", &Config::allow_open_bind,
     "yes: serve although other machines can connect (bind) and no password is needed, so that all "
     "who reach the port can take and break every lock. no: do not start then.",
     kNoYes},
    {"max_failed_log_ins", OptionType::kNumber, "20", 0, 100'000, true, "",
     &Config::max_failed_log_ins,
     "Log-ins from one address that may fail at once, and again in each minute; then further ones "
     "are refused unread. 0: any number."},
    {"max_unauthenticated_clients", OptionType::kNumber, "0", 0, 1'000'000, true, "",
     &Config::max_unauthenticated_clients,
     "Connections that must log in and have not; of more the one that has taken longest is closed. "
     "0: any number."},
    {"unauthenticated_timeout", OptionType::kDuration, "10s", 0, kDay, true, "",
     &Config::unauthenticated_timeout,
     "A connection that must log in and has not after so long is closed. 0: it may take its time."},
    {"output_limit", OptionType::kSize, "16mb", kMb, kGb, true, "", &Config::output_limit,
     "A connection with more unread replies than this is closed."},
    {"output_limit_total", OptionType::kSize, "256mb", 0, 1024 * kGb, true, "",
     &Config::output_limit_total,
     "When the unread replies of all connections take more memory, those with the most are closed. "
     "0: no bound."},
    {"input_limit_total", OptionType::kSize, "256mb", 0, 1024 * kGb, true, "",
     &Config::input_limit_total,
     "When what all connections have sent and cannot be executed yet takes more memory, or more "
     "than a tenth of max_memory, those with the most are closed, first those who have not logged "
     "in. 0: no bound of its own."},
    {"request_deadline", OptionType::kDuration, "30s", 0, kDay, true, "", &Config::request_deadline,
     "A request whose first bytes have come must be there whole after so long; else the connection "
     "is closed. 0: it may take any time."},
    {"request_limit", OptionType::kSize, "1mb", 16 * kKb, kGb, true, "", &Config::request_limit,
     "The largest request, in all its bytes."},
    {"argument_limit", OptionType::kSize, "512kb", 16 * kKb, 512 * kMb, true, "proto-max-bulk-len",
     &Config::argument_limit, "The largest argument of a request."},
    {"argument_count_limit", OptionType::kNumber, "16384", 64, 1'048'576, true, "",
     &Config::argument_count_limit, "The most arguments of a request."},
    {"inline_limit", OptionType::kSize, "64kb", kKb, kMb, true, "", &Config::inline_limit,
     "The longest request typed as a plain line."},
    {"default_lease", OptionType::kDuration, "30s", kMs, 365 * kDay, true, "",
     &Config::default_lease, "The lease of a LOCK that gives none."},
    {"max_keep", OptionType::kDuration, "1m", 0, 24 * 3'600'000, true, "", &Config::max_keep,
     "The longest KEEP, the time for which a place outlives its request."},
    {"reconnect_grace", OptionType::kDuration, "2s", 0, 3'600'000, true, "",
     &Config::reconnect_grace,
     "How long a waiter whose connection closed has its number in line; it delays nobody."},
    {"max_locks", OptionType::kNumber, "0", 0, kCountMax, false, "", &Config::max_locks,
     "Keys that are held or waited for; a request for one more is refused. 0: as many as fit."},
    {"max_places", OptionType::kNumber, "0", 0, kCountMax, false, "", &Config::max_places,
     "Requests that wait; one more is refused. 0: as many as fit."},
    {"max_places_per_key", OptionType::kNumber, "0", 0, kCountMax, true, "",
     &Config::max_places_per_key,
     "Requests that wait for one key; one more is refused. 0: as many as fit."},
    {"max_locks_per_connection", OptionType::kNumber, "0", 0, kCountMax, true, "",
     &Config::max_locks_per_connection,
     "Locks that are held or waited for and were last asked for on one connection, each key of an "
     "MLOCK by itself; one more is refused. 0: as many as fit."},
    {"max_memory", OptionType::kSize, "0", 0, 1024 * kGb, true, "maxmemory", &Config::max_memory,
     "When more memory is in use than this, locks are renewed and released, but nothing new is "
     "taken, waited for or subscribed to. 0: as much as there is."},
    {"max_limit_overrides", OptionType::kNumber, "100", 0, 10'000, true, "",
     &Config::max_limit_overrides,
     "Overrides of LIMIT at the same time. Each one costs a look at every request."},
    {"deadlock_search", OptionType::kNumber, "10000", 0, 1'000'000, true, "",
     &Config::deadlock_search,
     "Places and holds that are looked at to see whether a wait would never end; what is beyond "
     "counts as able to go on. 0: no wait is refused."},
    {"compat.end_native_leases", OptionType::kChoice, "no", 0, 0, true, "",
     &Config::compat_end_native_leases,
     "Whether DEL, SET, EXPIRE, FLUSHALL and their kin, which know no owner, also end and change "
     "what LOCK has granted. no: only what was taken by SET and its kin.",
     kNoYes},
    {"compat.keep_place", OptionType::kKeepRules, "0", 0, 0, true, "", &Config::compat_keep_place,
     "A denied SET NX takes a place in line that outlives it by this long, once the same value has "
     "asked twice within that time; for all keys, or as GLOB=DURATION each, of which the first "
     "whose glob matches the key counts. Longer than the pauses of those who poll; no longer than "
     "max_keep. 0: it takes none."},
    {"script_steps", OptionType::kNumber, "10000000", 10'000, kCountMax, true, "",
     &Config::script_steps,
     "Instructions that one script may execute, and as much work of library functions; then it is "
     "stopped. Nobody else is served while it runs: ten million take about 100 ms."},
    {"script_time", OptionType::kDuration, "1s", kMs, 60 * kSecond, true, "", &Config::script_time,
     "A script that runs for longer is stopped, however few its instructions."},
    {"script_memory", OptionType::kSize, "16mb", kMb, kGb, true, "", &Config::script_memory,
     "Memory that one script may take beyond what it found; one that wants more ends with an "
     "error."},
    {"script_cache", OptionType::kNumber, "1000", 1, 1'000'000, true, "", &Config::script_cache,
     "Scripts that are kept for EVALSHA, up to 4 MiB of text; the one longest not used goes "
     "first."},
    {"max_subscriptions", OptionType::kNumber, "10000", 1, 1'000'000, true, "",
     &Config::max_subscriptions, "Channels and patterns that one connection may be subscribed to."},
    {"max_transaction_requests", OptionType::kNumber, "10000", 1, 1'000'000, true, "",
     &Config::max_transaction_requests, "Requests between MULTI and EXEC."},
    {"max_transaction_size", OptionType::kSize, "16mb", 64 * kKb, 1024 * kMb, true, "",
     &Config::max_transaction_size, "Memory for the requests between MULTI and EXEC."},
    {"max_watched_keys", OptionType::kNumber, "1000", 1, 1'000'000, true, "",
     &Config::max_watched_keys, "Keys that one connection may WATCH."},
    {"notify_keyspace_events", OptionType::kKeyEvents, "AKE", 0, command::kKeyEventClassesMax, true,
     "notify-keyspace-events", &Config::notify_keyspace_events,
     "Letters, as in Redis, for what is published of keys: K on __keyspace@<db>__:KEY, E on "
     "__keyevent@<db>__:EVENT; $ set, g del and expire, x expired, A all. Empty: nothing."},
    {"lock_events_to_all_patterns", OptionType::kChoice, "no", 0, 0, true, "",
     &Config::lock_events_to_all_patterns,
     "Whether every PSUBSCRIBE pattern that matches, such as *, also gets the events of locks on "
     "__lock@<db>__:KEY. no: only patterns that begin with __lock@ get them.",
     kNoYes},
    {"history_memory", OptionType::kSize, "16mb", 0, kGb, false, "", &Config::history_memory,
     "Memory for what HISTORY tells; an event takes about 100 bytes. At least 256kb; 0: none is "
     "kept."},
    {"stats_labels", OptionType::kNumber, "100", 0, 1000, false, "", &Config::stats_labels,
     "Labels that STATS counts each by itself, the rest as other; each may take 140 KB. 0: nothing "
     "is counted."},
    {"labels", OptionType::kLabelRules, "", 0, 0, true, "", &Config::labels,
     "Labels for requests without LABEL: GLOB=LABEL each; the first whose glob matches the key "
     "counts. For a blank or a comma in a key write ?."},
    {"log_waits_over", OptionType::kDuration, "0", 0, 365 * kDay, true, "", &Config::log_waits_over,
     "A wait in line that took longer is logged when it ends. 0: none is."},
    {"log_holds_over", OptionType::kDuration, "0", 0, 365 * kDay, true, "", &Config::log_holds_over,
     "A hold that lasted longer is logged when it ends. 0: none is."},
    {"durability", OptionType::kChoice, "async", 0, 0, false, "", &Config::durability,
     "What survives of what was acknowledged. none: nothing; async: all, unless the machine is "
     "lost, then all but the last flush_interval; sync: all.",
     kDurabilities},
    {"data_dir", OptionType::kText, "", 0, 0, false, "dir", &Config::data_dir,
     "Folder of the data, of this server alone. Empty: ./data; with durability none no folder is "
     "used then, and tokens begin by the clock."},
    {"backup_dir", OptionType::kText, "", 0, 0, false, "", &Config::backup_dir,
     "Folder in which BACKUP makes folders with the time as their name. Empty: `backups` beside "
     "data_dir."},
    {"flush_interval", OptionType::kDuration, "100ms", kMs, 60 * kSecond, false, "",
     &Config::flush_interval,
     "With durability async, how long what was written may stay in the memory of the machine."},
    {"min_free_disk", OptionType::kSize, "256mb", 0, 1024 * kGb, true, "", &Config::min_free_disk,
     "With less room on the disk of data_dir locks can be released and renewed, but not taken. "
     "0: it is not looked at. A start after a kill writes up to 64mb once more, so less than 128mb "
     "may keep the server from coming back."},
    {"restart_grace", OptionType::kDuration, "30s", 0, kDay, false, "", &Config::restart_grace,
     "After a restart, how long sessions, and waiters of a clean stop, have to come back."},
    {"start_delay", OptionType::kDuration, "0", 0, 365 * kDay, false, "", &Config::start_delay,
     "After a start that may have lost leases, how long nobody new is let in; the longest lease is "
     "safe. Every start counts with durability none, one after another boot without a clean stop "
     "with async, that on a copy always."},
    {"log_level", OptionType::kChoice, "info", 0, 0, true, "", &Config::log_level,
     "The least important messages that are still logged.", kLogLevels},
    {"log_file", OptionType::kText, "", 0, 0, false, "logfile", &Config::log_file,
     "Messages are appended to this file. Empty: standard error."},
});

std::optional<std::int64_t> ParseAs(OptionType type, std::string_view text) {
  switch (type) {
    case OptionType::kNumber:
      return command::ParseInteger(text);
    case OptionType::kDuration:
      return ParseDurationMs(text);
    case OptionType::kSeconds: {
      const auto duration_ms = ParseDurationMs(text);
      return duration_ms && *duration_ms % kSecond == 0 ? duration_ms : std::nullopt;
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

}  // namespace

std::span<const Option> AllOptions() { return kOptions; }

const Option* FindOption(std::string_view name) {
  const auto* found = std::ranges::find(kOptions, name, &Option::name);
  return found == kOptions.end() ? nullptr : found;
}

std::string_view NearestOptionName(std::string_view name) {
  command::NearestWord nearest(name);
  for (const Option& option : kOptions) {
    if (name == option.redis_name) return option.name;
    nearest.Try(option.name);
  }
  return nearest.found();
}

std::string SetOption(const Option& option, std::string_view value, Config& config) {
  if (const auto* list = std::get_if<std::vector<std::string> Config::*>(&option.member)) {
    std::vector<std::string> parts = SplitList(value);
    if (!AreRight(option.type, parts)) return DescribeValues(option);
    config.*(*list) = std::move(parts);
    return "";
  }
  if (const auto* text = std::get_if<std::string Config::*>(&option.member)) {
    const bool is_known = std::ranges::find(option.choices, value) != option.choices.end();
    if (option.type == OptionType::kChoice && !is_known) return DescribeValues(option);
    config.*(*text) = value;
    return "";
  }
  const auto number = ParseAs(option.type, value);
  if (!number || *number < option.min || *number > option.max) return DescribeValues(option);
  config.*std::get<std::int64_t Config::*>(option.member) = *number;
  return "";
}

std::string ShowOption(const Option& option, const Config& config) {
  if (const auto* list = std::get_if<std::vector<std::string> Config::*>(&option.member)) {
    return Join(std::span<const std::string>(config.*(*list)), ", ");
  }
  if (const auto* text = std::get_if<std::string Config::*>(&option.member)) {
    return config.*(*text);
  }
  return FormatAs(option.type, config.*std::get<std::int64_t Config::*>(option.member));
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
      return std::to_string(config.*(*number) / kSecond);
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
      return "a text";
    case OptionType::kList:
      return "one or more texts with commas between them";
    case OptionType::kLabelRules:
      return "GLOB=LABEL with commas between them, a glob of 1 to 1024 bytes and a label of 1 to "
             "64 of A-Z a-z 0-9 _ . : -";
    case OptionType::kKeepRules:
      return "a duration (ms, s, m, h, d) for all keys, or GLOB=DURATION with commas between "
             "them, a glob of 1 to 1024 bytes and a duration up to " +
             FormatDurationMs(kKeepRuleMsMax);
    case OptionType::kChoice:
      return "one of " + Join(option.choices, ", ");
    case OptionType::kKeyEvents:
      return "letters of Ag$lshzxeKEtmdn";
  }
  return "";
}

std::string DescribeMistake(const Option& option, std::string_view value) {
  // In Redis' words, for clients that set it themselves.
  if (option.type == OptionType::kKeyEvents) {
    return "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
  }
  return command::Quoted(value) + " is wrong; " + DescribeValues(option) + " would be right";
}

std::string CommandLineName(std::string_view option_name) {
  std::string name = "--" + std::string(option_name);
  std::ranges::replace(name, '_', '-');
  return name;
}

Config DefaultConfig() {
  Config config;
  for (const Option& option : kOptions) {
    const std::string wrong = SetOption(option, option.default_value, config);
    assert(wrong.empty());
  }
  return config;
}

}  // namespace fairlock::server
