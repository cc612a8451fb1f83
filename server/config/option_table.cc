// The options, one row each.
#include <algorithm>
#include <array>

#include "server/command/pubsub/key_events.h"
#include "server/config/config_options.h"
#include "server/values/value_limits.h"

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
constexpr std::array<std::string_view, 3> kDialects = {"auto", "plain", "cluster"};
constexpr std::array<std::string_view, 3> kAuthClients = {"no", "optional", "required"};
constexpr std::array<std::string_view, 2> kCertificateUsers = {"no", "cn"};
constexpr std::array<std::string_view, 3> kDurabilities = {"none", "async", "sync"};

constexpr auto kOptions = std::to_array<Option>({
    {"port", OptionType::kNumber, "3247", 0, 65535, false, "port", &Config::port,
     "TCP port for clients. 0: no TCP."},
    {"bind", OptionType::kList, "127.0.0.1, -::1", 0, 0, false, "bind", &Config::bind,
     "Addresses to listen on; * means every address. An address prefixed with - may be missing on "
     "this machine."},
    {"unix_socket", OptionType::kText, "", 0, 0, false, "unixsocket", &Config::unix_socket,
     "Path of a unix socket for clients. Empty: none."},
    {"unix_socket_permissions", OptionType::kPermissions, "0700", 0, 0777, false, "unixsocketperm",
     &Config::unix_socket_permissions, "Permissions of the unix socket, as for chmod."},
    {"max_clients", OptionType::kNumber, "10000", 1, 1'000'000, true, "maxclients",
     &Config::max_clients,
     "Maximum number of connections; further ones are refused. Reduced at startup if the limit on "
     "open files is too low."},
    {"max_clients_per_address", OptionType::kNumber, "0", 0, 1'000'000, true, "",
     &Config::max_clients_per_address,
     "Maximum number of connections from one address (IPv6: one /64), including TLS handshakes; "
     "further ones are refused. Does not apply to unix sockets. 0: unlimited."},
    {"tcp_backlog", OptionType::kNumber, "511", 1, 65535, false, "tcp-backlog",
     &Config::tcp_backlog,
     "Maximum number of connections waiting to be accepted; the kernel caps it at "
     "net.core.somaxconn."},
    {"tcp_keepalive", OptionType::kSeconds, "5m", 0, kDay, false, "tcp-keepalive",
     &Config::tcp_keepalive,
     "Idle time before the first TCP keepalive probe; half of tcp_user_timeout, if that is less. "
     "0: no probes."},
    {"tcp_user_timeout", OptionType::kDuration, "1m", 0, kDay, false, "", &Config::tcp_user_timeout,
     "How long sent data or keepalive probes may stay unacknowledged before the connection counts "
     "as lost. 0: the kernel's default."},
    {"tls_port", OptionType::kNumber, "0", 0, 65535, false, "tls-port", &Config::tls_port,
     "TCP port for TLS clients, on the same addresses as bind. If port is 0, clients can connect "
     "only over TLS. 0: no TLS."},
    {"tls_cert_file", OptionType::kFile, "", 0, 0, false, "tls-cert-file", &Config::tls_cert_file,
     "The server's certificate in PEM, followed by the intermediate certificates. Reloaded on "
     "SIGHUP, as are the next two files."},
    {"tls_key_file", OptionType::kFile, "", 0, 0, false, "tls-key-file", &Config::tls_key_file,
     "The private key of the certificate, in PEM, without a password."},
    {"tls_ca_file", OptionType::kFile, "", 0, 0, false, "tls-ca-cert-file", &Config::tls_ca_file,
     "Certificates, in PEM, of the authorities that sign client certificates and, in a fleet, "
     "those of nodes with http_tls. Empty: nodes trust the authorities that the system trusts."},
    {"tls_auth_clients", OptionType::kChoice, "no", 0, 0, false, "", &Config::tls_auth_clients,
     "Whether clients of tls_port must present a certificate. optional: they may, and an invalid "
     "certificate is refused.",
     kAuthClients},
    {"tls_auth_clients_user", OptionType::kChoice, "no", 0, 0, false, "tls-auth-clients-user",
     &Config::tls_auth_clients_user,
     "cn: a client whose certificate has the common name of a user is logged in as that user from "
     "the start, as after AUTH; any other certificate changes nothing.",
     kCertificateUsers},
    {"tls_ciphers", OptionType::kText, "ECDHE+AESGCM:ECDHE+CHACHA20", 0, 0, false, "tls-ciphers",
     &Config::tls_ciphers, "TLS 1.2 ciphers, by their OpenSSL names. Empty: OpenSSL's default."},
    {"tls_ciphersuites", OptionType::kText, "", 0, 0, false, "tls-ciphersuites",
     &Config::tls_ciphersuites, "TLS 1.3 cipher suites. Empty: OpenSSL's default."},
    {"tls_handshake_timeout", OptionType::kDuration, "10s", 100 * kMs, 10 * 60 * kSecond, false, "",
     &Config::tls_handshake_timeout,
     "Connections that have not completed the TLS handshake within this time are closed."},
    {"tls_max_handshakes", OptionType::kNumber, "1000", 1, 100'000, false, "",
     &Config::tls_max_handshakes,
     "Maximum number of TLS handshakes in progress, in addition to max_clients. Further ones wait "
     "in the kernel; connections that have sent nothing for half a second are closed to make room "
     "for them."},
    {"http_port", OptionType::kNumber, "3248", 0, 65535, false, "", &Config::http_port,
     "TCP port for metrics, the HTTP API and the dashboard. 0: no HTTP."},
    {"http_bind", OptionType::kList, "127.0.0.1, -::1", 0, 0, false, "", &Config::http_bind,
     "Addresses to listen on for HTTP. If other machines can reach one of them, http_token_file is "
     "required."},
    {"http_hosts", OptionType::kList, "localhost", 0, 0, false, "", &Config::http_hosts,
     "Host names by which browsers may address this server, besides numeric addresses."},
    {"http_token_file", OptionType::kFile, "", 0, 0, false, "", &Config::http_token_file,
     "A file with one word of at least 16 characters, the token that allows changes over HTTP. "
     "Empty: only users with a password may make changes, limited to the commands they are allowed "
     "to use."},
    {"http_tls", OptionType::kChoice, "no", 0, 0, false, "", &Config::http_tls,
     "Whether http_port speaks HTTPS, with the certificate of tls_cert_file. HTTPS clients need no "
     "certificate.",
     kNoYes},
    {"http_max_clients", OptionType::kNumber, "100", 1, 10'000, false, "",
     &Config::http_max_clients,
     "Maximum number of HTTP connections; those with incomplete requests, and idle ones, are "
     "closed to make room for new ones. 16 more are accepted for /healthz, /readyz, /leaderz and "
     "/metrics. Half of them may wait for locks."},
    {"http_wait_max", OptionType::kDuration, "5m", 0, kDay, false, "", &Config::http_wait_max,
     "How long a request for a lock over HTTP may wait."},
    {"terraform_lease", OptionType::kDuration, "0", 0, 365 * kDay, false, "",
     &Config::terraform_lease,
     "The lease of a lock on a state of Terraform or OpenTofu, if its address has no ?lease=. 0: "
     "the longest, 365 days, so in practice until it is released."},
    {"requirepass",
     OptionType::kText,
     "",
     0,
     0,
     true,
     "requirepass",
     &Config::requirepass,
     "Password of the default user, who may do everything: the password itself, or its hash as "
     "printed by `fairlockd --hash-password`. Empty: that user needs no password, unless acl_file "
     "says otherwise.",
     {},
     true},
    {"acl_file", OptionType::kFile, "", 0, 0, false, "aclfile", &Config::acl_file,
     "A file with users, their passwords and their permissions; SIGHUP and ACL LOAD reload it. "
     "Empty: the only user is default."},
    {"allow_open_bind", OptionType::kChoice, "no", 0, 0, true, "", &Config::allow_open_bind,
     "yes: serve even if other machines can connect (bind) and no password is required, so that "
     "every client that reaches the port can take and break every lock. no: refuse to start in "
     "that case.",
     kNoYes},
    {"max_failed_log_ins", OptionType::kNumber, "20", 0, 100'000, true, "",
     &Config::max_failed_log_ins,
     "Maximum number of failed log-ins from one address per minute; further attempts are refused "
     "without checking the password. 0: unlimited."},
    {"max_unauthenticated_clients", OptionType::kNumber, "0", 0, 1'000'000, true, "",
     &Config::max_unauthenticated_clients,
     "Maximum number of connections that must log in and have not yet; beyond it, the oldest of "
     "them is closed. 0: unlimited."},
    {"unauthenticated_timeout", OptionType::kDuration, "10s", 0, kDay, true, "",
     &Config::unauthenticated_timeout,
     "A connection that must log in and has not done so within this time is closed. 0: no limit."},
    {"output_limit", OptionType::kSize, "16mb", kMb, kGb, true, "", &Config::output_limit,
     "A connection with more unread replies than this is closed. A request or a transaction whose "
     "replies would be longer is refused."},
    {"output_limit_total", OptionType::kSize, "256mb", 0, 1024 * kGb, true, "",
     &Config::output_limit_total,
     "When the unread replies of all connections take more memory than this, or more than a tenth "
     "of max_memory (at least output_limit), the connections with the most are closed. 0: only the "
     "limit derived from max_memory applies."},
    {"input_limit_total", OptionType::kSize, "256mb", 0, 1024 * kGb, true, "",
     &Config::input_limit_total,
     "When the unexecuted input of all connections takes more memory than this, or more than a "
     "tenth of max_memory, the connections with the most are closed, starting with those that have "
     "not logged in. 0: only the limit derived from max_memory applies."},
    {"request_deadline", OptionType::kDuration, "30s", 0, kDay, true, "", &Config::request_deadline,
     "A request must arrive completely within this time after its first bytes; otherwise the "
     "connection is closed. 0: no limit."},
    {"request_limit", OptionType::kSize, "1mb", 16 * kKb, kGb, true, "", &Config::request_limit,
     "Maximum size of a request in bytes."},
    {"argument_limit", OptionType::kSize, "512kb", 16 * kKb, 512 * kMb, true, "proto-max-bulk-len",
     &Config::argument_limit, "Maximum size of one argument in a request."},
    {"argument_count_limit", OptionType::kNumber, "16384", 64, 1'048'576, true, "",
     &Config::argument_count_limit, "Maximum number of arguments in a request."},
    {"inline_limit", OptionType::kSize, "64kb", kKb, kMb, true, "", &Config::inline_limit,
     "Maximum length of an inline request, one typed as a plain line."},
    {"default_lease", OptionType::kDuration, "30s", kMs, 365 * kDay, true, "",
     &Config::default_lease, "The lease of a LOCK request that gives none."},
    {"max_keep", OptionType::kDuration, "1m", 0, 24 * 3'600'000, true, "", &Config::max_keep,
     "Maximum value of KEEP, the time for which a place in the queue outlives its request."},
    {"reconnect_grace", OptionType::kDuration, "2s", 0, 3'600'000, true, "",
     &Config::reconnect_grace,
     "How long a waiter whose connection closed keeps its position in the queue; it delays "
     "nobody."},
    {"max_locks", OptionType::kNumber, "0", 0, kCountMax, false, "", &Config::max_locks,
     "Maximum number of keys that are held or waited for; requests for further keys are refused. "
     "Hashes, lists, sets and sorted sets are counted apart, up to the same number. 0: unlimited."},
    {"max_places", OptionType::kNumber, "0", 0, kCountMax, false, "", &Config::max_places,
     "Maximum number of waiting requests; further ones are refused. 0: unlimited."},
    {"max_places_per_key", OptionType::kNumber, "0", 0, kCountMax, true, "",
     &Config::max_places_per_key,
     "Maximum number of requests waiting for one key; further ones are refused. 0: unlimited."},
    {"max_locks_per_connection", OptionType::kNumber, "0", 0, kCountMax, true, "",
     &Config::max_locks_per_connection,
     "Maximum number of locks held or waited for that were last requested on one connection, "
     "counting each key of an MLOCK; further ones are refused. 0: unlimited."},
    {"value_elements_max", OptionType::kNumber, "4294967294", 1, values::kElementsMax, true, "",
     &Config::value_elements_max,
     "Maximum number of elements of a hash, list, set or sorted set; a command that would add more "
     "is refused."},
    {"value_bytes_max", OptionType::kSize, "1024gb", kKb, values::kBytesMax, true, "",
     &Config::value_bytes_max,
     "Maximum size of a hash, list, set or sorted set, with 16 bytes for each element in addition "
     "to its own; a command that would exceed it is refused."},
    {"max_memory", OptionType::kSize, "0", 0, 1024 * kGb, true, "maxmemory", &Config::max_memory,
     "When more memory than this is in use, locks can be renewed and released, but new locks, "
     "waits and subscriptions are refused. 0: unlimited."},
    {"max_limit_overrides", OptionType::kNumber, "100", 0, 10'000, true, "",
     &Config::max_limit_overrides,
     "Maximum number of LIMIT overrides. Every request is compared with each of them."},
    {"deadlock_search", OptionType::kNumber, "10000", 0, 1'000'000, true, "",
     &Config::deadlock_search,
     "Maximum number of places and holds to examine when checking whether a wait would deadlock; "
     "anything beyond that is assumed to be free of deadlock. 0: no check, no wait is refused."},
    {"compat.end_native_leases", OptionType::kChoice, "no", 0, 0, true, "",
     &Config::compat_end_native_leases,
     "Whether DEL, SET, EXPIRE, FLUSHALL and similar commands, which do not check the owner, may "
     "also end and change locks granted by LOCK. no: only locks taken by SET and similar commands.",
     kNoYes},
    {"compat.keep_place", OptionType::kKeepRules, "0", 0, 0, true, "", &Config::compat_keep_place,
     "How long a denied SET NX keeps a place in the queue after the request, once the same value "
     "has asked twice within that time. One duration for all keys, or GLOB=DURATION pairs; the "
     "first whose glob matches the key applies. Should be longer than the clients' polling "
     "interval; at most max_keep. 0: no place."},
    {"script_steps", OptionType::kNumber, "10000000", 10'000, kCountMax, true, "",
     &Config::script_steps,
     "Maximum number of instructions in one script, including equivalent work in library "
     "functions; beyond it the script is stopped. How long ten million take depends on what they "
     "do: from 50 ms to more than a second."},
    {"script_time", OptionType::kDuration, "100ms", kMs, 60 * kSecond, true, "",
     &Config::script_time,
     "A script that runs longer than this is stopped, however few instructions it has executed; "
     "all scripts of one EXEC share this time. No other client is served while a script runs, so "
     "this is how long one script can delay the others."},
    {"script_memory", OptionType::kSize, "16mb", kMb, kGb, true, "", &Config::script_memory,
     "Maximum memory that one script may allocate; beyond it the script ends with an error."},
    {"script_cache", OptionType::kNumber, "1000", 1, 1'000'000, true, "", &Config::script_cache,
     "Maximum number of scripts cached for EVALSHA, up to 4 MiB of text; the least recently used "
     "script is evicted first."},
    {"max_subscriptions", OptionType::kNumber, "10000", 1, 1'000'000, true, "",
     &Config::max_subscriptions,
     "Maximum number of channels and patterns that one connection may subscribe to."},
    {"max_transaction_requests", OptionType::kNumber, "10000", 1, 1'000'000, true, "",
     &Config::max_transaction_requests, "Maximum number of requests between MULTI and EXEC."},
    {"max_transaction_size", OptionType::kSize, "16mb", 64 * kKb, 1024 * kMb, true, "",
     &Config::max_transaction_size, "Maximum memory for the requests between MULTI and EXEC."},
    {"max_watched_keys", OptionType::kNumber, "1000", 1, 1'000'000, true, "",
     &Config::max_watched_keys, "Maximum number of keys that one connection may WATCH."},
    {"notify_keyspace_events", OptionType::kKeyEvents, "AKE", 0, command::kKeyEventClassesMax, true,
     "notify-keyspace-events", &Config::notify_keyspace_events,
     "Key events to publish, in Redis's notation: K on __keyspace@<db>__:KEY, E on "
     "__keyevent@<db>__:EVENT; $ set, g del and expire, x expired, A all. Empty: none."},
    {"lock_events_to_all_patterns", OptionType::kChoice, "no", 0, 0, true, "",
     &Config::lock_events_to_all_patterns,
     "Whether every PSUBSCRIBE pattern that matches, such as *, also receives the lock events on "
     "__lock@<db>__:KEY. no: only patterns that begin with __lock@ receive them.",
     kNoYes},
    {"history_memory", OptionType::kSize, "16mb", 0, kGb, false, "", &Config::history_memory,
     "Memory for the events that HISTORY shows, about 100 bytes each. At least 256kb; 0: no "
     "history."},
    {"history_file", OptionType::kText, "", 0, 0, false, "", &Config::history_file,
     "File to which every event of the history is written as it happens, one JSON object per line; "
     "its end is read back at startup. Empty: none."},
    {"history_file_size", OptionType::kSize, "100mb", kMb, 1024 * kGb, false, "",
     &Config::history_file_size,
     "When history_file is larger than this, it is renamed to FILE.1, FILE.1 to FILE.2, and so "
     "on."},
    {"history_file_age", OptionType::kDuration, "1d", 0, 365 * kDay, false, "",
     &Config::history_file_age,
     "history_file is also renamed when its first line is older than this. 0: at no age."},
    {"history_files", OptionType::kNumber, "10", 0, 1000, false, "", &Config::history_files,
     "How many renamed files are kept beside history_file."},
    {"stats_labels", OptionType::kNumber, "100", 0, 1000, false, "", &Config::stats_labels,
     "Maximum number of labels that STATS counts separately, at up to 140 KB each; all others are "
     "counted together as other. 0: no counts by label."},
    {"labels", OptionType::kLabelRules, "", 0, 0, true, "", &Config::labels,
     "Labels for requests without LABEL, as GLOB=LABEL pairs; the first whose glob matches the key "
     "applies. To match a blank or a comma in a key, write ?."},
    {"log_waits_over", OptionType::kDuration, "0", 0, 365 * kDay, true, "", &Config::log_waits_over,
     "A wait in the queue that took longer than this is logged when it ends. 0: off."},
    {"log_holds_over", OptionType::kDuration, "0", 0, 365 * kDay, true, "", &Config::log_holds_over,
     "A hold that lasted longer than this is logged when it ends. 0: off."},
    {"durability", OptionType::kChoice, "async", 0, 0, false, "", &Config::durability,
     "Which acknowledged changes survive. none: none of them; async: all of them, but if the "
     "machine crashes, not those of the last flush_interval; sync: all of them.",
     kDurabilities},
    {"data_dir", OptionType::kText, "", 0, 0, false, "dir", &Config::data_dir,
     "Data folder, used by this server only. Empty: ./data, or no folder with durability none; "
     "tokens then start from the clock."},
    {"backup_dir", OptionType::kText, "", 0, 0, false, "", &Config::backup_dir,
     "Folder in which BACKUP creates timestamped folders. Empty: `backups` next to data_dir."},
    {"flush_interval", OptionType::kDuration, "100ms", kMs, 60 * kSecond, false, "",
     &Config::flush_interval,
     "With durability async, the pause between two flushes to disk. A machine failure loses at "
     "most the writes made during this interval and those of the flush in progress."},
    {"min_free_disk", OptionType::kSize, "256mb", 0, 1024 * kGb, true, "", &Config::min_free_disk,
     "With less free space than this on the disk of data_dir, locks can be released and renewed, "
     "but not taken. 0: not checked. A start after a kill rewrites up to 64mb, so with less than "
     "128mb the server may fail to restart."},
    {"restart_grace", OptionType::kDuration, "30s", 0, kDay, false, "", &Config::restart_grace,
     "After a restart, how long sessions may take to reconnect, and waiters too after a clean "
     "stop."},
    {"start_delay", OptionType::kDuration, "0", 0, 365 * kDay, false, "", &Config::start_delay,
     "How long to wait before granting new locks after a start that may have lost leases; a value "
     "as long as the longest lease is always safe. This applies to every start with durability "
     "none; with async, to a start after a reboot without a clean stop; and always to a start on a "
     "copy of the data."},
    {"cluster_etcd", OptionType::kText, "", 0, 0, false, "", &Config::cluster_etcd,
     "Members of an etcd cluster, as host:2379,host:2379; https:// before a host uses TLS. The "
     "server is then a node of a fleet: the locks are in etcd, and one node leads. Empty: a single "
     "server."},
    {"cluster_etcd_ca", OptionType::kFile, "", 0, 0, false, "", &Config::cluster_etcd_ca,
     "File with the certificates of the CAs that sign etcd's. Empty: the system's CAs."},
    {"cluster_etcd_cert", OptionType::kFile, "", 0, 0, false, "", &Config::cluster_etcd_cert,
     "File with the certificate that the server presents to etcd. Empty: none."},
    {"cluster_etcd_key", OptionType::kFile, "", 0, 0, false, "", &Config::cluster_etcd_key,
     "File with the private key of cluster_etcd_cert."},
    {"cluster_etcd_user", OptionType::kText, "", 0, 0, false, "", &Config::cluster_etcd_user,
     "User name for etcd. Empty: no login."},
    {"cluster_etcd_password_file", OptionType::kFile, "", 0, 0, false, "",
     &Config::cluster_etcd_password_file, "File with the password of cluster_etcd_user."},
    {"cluster_name", OptionType::kText, "main", 0, 0, false, "", &Config::cluster_name,
     "Name of the fleet, the same on all its nodes. Its keys in etcd begin with /fairlock/NAME/."},
    {"cluster_node", OptionType::kText, "", 0, 0, false, "", &Config::cluster_node,
     "Name of this node, unique in the fleet. Empty: the host name."},
    {"cluster_announce", OptionType::kText, "", 0, 0, false, "", &Config::cluster_announce,
     "Address (host:port) at which the other nodes, and clients, reach this node itself, not a "
     "balancer; the TLS port is on the same host. Empty: the node's name and the port."},
    {"cluster_partition", OptionType::kText, "auto", 0, 0, false, "", &Config::cluster_partition,
     "Number of the partition that this node serves, from 0. auto: the one that has the fewest "
     "nodes when this node joins the fleet."},
    {"cluster_dialect", OptionType::kChoice, "auto", 0, 0, false, "", &Config::cluster_dialect,
     "plain: clients may connect to any node, and a standby passes their connections on. cluster: "
     "clients must know Redis Cluster, and a node answers MOVED for keys of other nodes. auto: "
     "cluster in a fleet of several partitions, otherwise plain. With cluster, the fleet must have "
     "been created.",
     kDialects},
    {"cluster_machine", OptionType::kText, "", 0, 0, false, "", &Config::cluster_machine,
     "Name of the machine, or of the zone, that this node may fail with; nodes of one partition "
     "are kept apart by it. Empty: the host name."},
    {"cluster_balance", OptionType::kDuration, "1m", 0, kDay, false, "", &Config::cluster_balance,
     "In a fleet of several partitions, this node hands its partition over to a standby whose "
     "machine leads at least two partitions fewer, if no leader has changed and no node has joined "
     "for this time. At least 10s; 0: it never hands over for this reason."},
    {"cluster_relay", OptionType::kChoice, "yes", 0, 0, false, "", &Config::cluster_relay,
     "yes: a standby passes client connections on to the leader. no: it answers itself, and "
     "lock commands get -CLUSTERDOWN.",
     kNoYes},
    {"sentinel_port", OptionType::kNumber, "3249", 0, 65535, false, "", &Config::sentinel_port,
     "TCP port on which a node of a fleet answers clients that look for the leader as Redis "
     "Sentinel does. 0: none. A single server never opens it."},
    {"cluster_keep_lines", OptionType::kChoice, "yes", 0, 0, false, "", &Config::cluster_keep_lines,
     "yes: every waiting place is stored, so that waiters who ask again after a fail-over continue "
     "where they were. no: only those with KEEP.",
     kNoYes},
    {"cluster_compaction", OptionType::kChoice, "yes", 0, 0, false, "", &Config::cluster_compaction,
     "yes: the leader discards etcd's history as it grows, for all users of that etcd. no: an etcd "
     "shared with others keeps it for as long as it is configured to.",
     kNoYes},
    {"cluster_etcd_quota", OptionType::kSize, "2gb", 0, 1024 * kGb, false, "",
     &Config::cluster_etcd_quota,
     "The quota of etcd's database (its --quota-backend-bytes). When a member's database reaches "
     "80 % of it, locks can be released and renewed, but not taken. 0: not checked."},
    {"log_level", OptionType::kChoice, "info", 0, 0, true, "", &Config::log_level,
     "The lowest level that is logged.", kLogLevels},
    {"log_file", OptionType::kText, "", 0, 0, false, "logfile", &Config::log_file,
     "File to which log messages are appended. Empty: standard error."},
});

}  // namespace

std::span<const Option> AllOptions() { return kOptions; }

}  // namespace fairlock::server
