// The server's configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fairlock::net {
enum class ClientCertificates : std::uint8_t;
}

namespace fairlock::persist {
enum class Durability : std::uint8_t;
}

namespace fairlock::server {

enum class LogLevel : std::uint8_t;
enum class ClusterDialect : std::uint8_t { kAuto, kPlain, kCluster };

// The values of all options; the meaning and the allowed values of each are in option_table.cc.
// Durations are in milliseconds, sizes in bytes.
struct Config {
  std::int64_t port = 0;
  std::vector<std::string> bind;
  std::string unix_socket;
  std::int64_t unix_socket_permissions = 0;
  std::int64_t max_clients = 0;
  std::int64_t max_clients_per_address = 0;  // 0: unlimited
  std::int64_t tcp_backlog = 0;
  std::int64_t tcp_keepalive = 0;
  std::int64_t tcp_user_timeout = 0;

  std::int64_t tls_port = 0;
  std::string tls_cert_file;
  std::string tls_key_file;
  std::string tls_ca_file;
  net::ClientCertificates tls_auth_clients{};
  bool tls_auth_clients_user = false;  // whether a certificate names the user
  std::string tls_ciphers;
  std::string tls_ciphersuites;
  std::int64_t tls_handshake_timeout = 0;
  std::int64_t tls_max_handshakes = 0;

  std::int64_t http_port = 0;
  std::vector<std::string> http_bind;
  std::vector<std::string> http_hosts;
  std::string http_token_file;
  bool http_tls = false;
  std::int64_t http_max_clients = 0;
  std::int64_t http_wait_max = 0;
  std::int64_t terraform_lease = 0;  // 0 for the longest

  std::string requirepass;
  std::string acl_file;
  bool allow_open_bind = false;
  std::int64_t max_failed_log_ins = 0;
  std::int64_t max_unauthenticated_clients = 0;
  std::int64_t unauthenticated_timeout = 0;

  std::int64_t output_limit = 0;
  std::int64_t output_limit_total = 0;  // 0: no limit; the same applies to request_deadline
  std::int64_t input_limit_total = 0;   // 0: only max_memory limits it
  std::int64_t request_deadline = 0;
  std::int64_t request_limit = 0;
  std::int64_t argument_limit = 0;
  std::int64_t argument_count_limit = 0;
  std::int64_t inline_limit = 0;

  std::int64_t default_lease = 0;
  std::int64_t max_keep = 0;
  std::int64_t reconnect_grace = 0;
  std::int64_t max_locks = 0;
  std::int64_t max_places = 0;
  std::int64_t max_places_per_key = 0;
  std::int64_t max_locks_per_connection = 0;
  std::int64_t value_elements_max = 0;
  std::int64_t value_bytes_max = 0;
  std::int64_t max_memory = 0;
  std::int64_t max_limit_overrides = 0;
  std::int64_t deadlock_search = 0;

  bool compat_end_native_leases = false;
  std::vector<std::string> compat_keep_place;  // GLOB=DURATION each, or a duration

  std::int64_t script_steps = 0;
  std::int64_t script_time = 0;
  std::int64_t script_memory = 0;
  std::int64_t script_cache = 0;

  std::int64_t max_subscriptions = 0;
  std::int64_t max_transaction_requests = 0;
  std::int64_t max_transaction_size = 0;
  std::int64_t max_watched_keys = 0;
  bool lock_events_to_all_patterns = false;
  std::int64_t notify_keyspace_events = 0;  // bits of command::KeyEventClasses

  std::int64_t history_memory = 0;
  std::string history_file;
  std::int64_t history_file_size = 0;
  std::int64_t history_file_age = 0;  // 0: a file is not renamed for its age
  std::int64_t history_files = 0;
  std::int64_t stats_labels = 0;
  std::vector<std::string> labels;  // GLOB=LABEL each
  std::int64_t log_waits_over = 0;  // 0: off; the same applies to log_holds_over
  std::int64_t log_holds_over = 0;

  persist::Durability durability{};
  std::string data_dir;
  std::string backup_dir;
  std::int64_t flush_interval = 0;
  std::int64_t min_free_disk = 0;
  std::int64_t restart_grace = 0;
  std::int64_t start_delay = 0;

  std::string cluster_etcd;  // empty: a single server
  std::string cluster_etcd_ca;
  std::string cluster_etcd_cert;
  std::string cluster_etcd_key;
  std::string cluster_etcd_user;
  std::string cluster_etcd_password_file;
  std::string cluster_name;
  std::string cluster_node;
  std::string cluster_announce;
  std::string cluster_partition;
  ClusterDialect cluster_dialect{};
  std::string cluster_machine;
  std::int64_t cluster_balance = 0;
  bool cluster_relay = false;
  std::int64_t sentinel_port = 0;
  bool cluster_keep_lines = false;
  bool cluster_compaction = false;
  std::int64_t cluster_etcd_quota = 0;

  LogLevel log_level{};
  std::string log_file;
};

// All options with their default values.
Config DefaultConfig();

}  // namespace fairlock::server
