#include "server/server.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "server/command/handlers/command_families.h"
#include "server/config/config_options.h"
#include "server/config/config_values.h"
#include "server/net/clock.h"
#include "server/net/sockets/descriptor_limit.h"
#include "server/net/sockets/listening_socket.h"
#include "server/process/start_values.h"
#include "server/process/version.h"
#include "server/serve.h"
#include "server/services/data_tools.h"

namespace fairlock::server {

namespace {

template <int kStatus>
void EndAtOnce(int) {
  std::_Exit(kStatus);
}

// Raises the limit on open files for `wanted` connections, the TLS handshakes in progress, the
// connections of the Sentinel port, and HTTP requests that are passed on to other nodes. Returns
// how many connections fit.
std::size_t MakeRoomForClients(std::size_t wanted, const Config& config) {
  const bool is_https = config.http_port != 0 && config.http_tls;
  const std::int64_t tls_listeners = (config.tls_port != 0 ? 1 : 0) + (is_https ? 1 : 0);
  const bool is_sentinel = !config.cluster_etcd.empty() && config.sentinel_port != 0;
  const bool is_http_in_fleet = !config.cluster_etcd.empty() && config.http_port != 0;
  const std::size_t others = static_cast<std::size_t>(tls_listeners * config.tls_max_handshakes) +
                             (is_sentinel ? SentinelService::kConnectionsMax : 0) +
                             (is_http_in_fleet ? net::HttpServer::kForwardsMax : 0);
  // A relayed connection has a socket on each side.
  const bool relays = !config.cluster_etcd.empty() && config.cluster_relay;
  const std::size_t sockets_each = relays ? 2 : 1;
  const std::size_t room = net::MakeRoomForConnections(wanted * sockets_each + others);
  return room > others ? std::max<std::size_t>((room - others) / sockets_each, 1) : 1;
}

Config FitToDescriptorLimit(Config config, Log& log) {
  const std::int64_t wanted = config.max_clients;
  const std::size_t room = MakeRoomForClients(static_cast<std::size_t>(wanted), config);
  config.max_clients = static_cast<std::int64_t>(room);
  if (config.max_clients < wanted) {
    log.Warning(
        "max_clients is {} instead of {}: the hard limit on open files leaves no room for more "
        "(ulimit -Hn, or LimitNOFILE= of the service)",
        config.max_clients, wanted);
  }
  return config;
}

// Converts an option for which 0 means no limit.
std::uint64_t Bound(std::int64_t count_max) {
  return count_max == 0 ? std::numeric_limits<std::uint64_t>::max()
                        : static_cast<std::uint64_t>(count_max);
}

// Sets the options of the engine that may change while the server runs.
void ApplyToEngine(const Config& config, engine::EngineOptions& options) {
  options.default_lease_ms = config.default_lease;
  options.reconnect_grace_ms = config.reconnect_grace;
  options.keep_ms_max = config.max_keep;
  options.places_per_key_max = Bound(config.max_places_per_key);
  options.claims_per_client_max = Bound(config.max_locks_per_connection);
  options.limit_overrides_max = static_cast<std::size_t>(config.max_limit_overrides);
  options.ends_native_leases = config.compat_end_native_leases;
  options.deadlock_search = static_cast<std::size_t>(config.deadlock_search);
}

engine::EngineOptions EngineOptionsOf(const Config& config) {
  engine::EngineOptions options = {.first_token = FirstToken(net::UnixTimeUs()),
                                   .hash_seed = RandomSeed(),
                                   .locks_max = Bound(config.max_locks),
                                   .places_max = Bound(config.max_places)};
  ApplyToEngine(config, options);
  return options;
}

record::RecorderOptions RecorderOptionsOf(const Config& config) {
  auto history_bytes = static_cast<std::size_t>(config.history_memory);
  if (history_bytes > 0) history_bytes = std::max(history_bytes, record::History::kBytesMin);
  return {.history_bytes = history_bytes,
          .labels_max = static_cast<std::size_t>(config.stats_labels)};
}

protocol::RequestLimits RequestLimitsOf(const Config& config) {
  return {.arguments_max = static_cast<std::uint32_t>(config.argument_count_limit),
          .argument_bytes_max = static_cast<std::uint32_t>(config.argument_limit),
          .request_bytes_max = static_cast<std::uint32_t>(config.request_limit),
          .inline_bytes_max = static_cast<std::uint32_t>(config.inline_limit)};
}

script::ScriptLimits ScriptLimitsOf(const Config& config) {
  return {.steps_max = static_cast<std::uint64_t>(config.script_steps),
          .time_max_ms = static_cast<std::uint64_t>(config.script_time),
          .memory_bytes_max = static_cast<std::size_t>(config.script_memory),
          .cached_scripts_max = static_cast<std::size_t>(config.script_cache)};
}

// Limits unexecuted input, or unread output, of all connections to a small part of max_memory,
// which is meant for locks, but not below what one connection may have.
std::size_t BuffersMax(const Config& config, std::int64_t bytes_max, std::int64_t of_one) {
  constexpr std::int64_t kPartOfMemory = 10;
  if (config.max_memory > 0) {
    const std::int64_t part = std::max(config.max_memory / kPartOfMemory, of_one);
    bytes_max = bytes_max > 0 ? std::min(bytes_max, part) : part;
  }
  return static_cast<std::size_t>(bytes_max);
}

void ApplyToTurns(const Config& config, net::TurnLimits& limits) {
  limits.output_bytes_max = static_cast<std::size_t>(config.output_limit);
  limits.all_output_bytes_max = BuffersMax(config, config.output_limit_total, config.output_limit);
  limits.all_input_bytes_max = BuffersMax(config, config.input_limit_total, config.request_limit);
  limits.request_deadline_ms = config.request_deadline;
}

net::LoopOptions LoopOptionsOf(const Config& config) {
  net::LoopOptions options;
  ApplyToTurns(config, options.limits);
  options.sockets = {.keepalive_seconds = static_cast<int>(config.tcp_keepalive / 1000),
                     .user_timeout_ms = static_cast<int>(config.tcp_user_timeout)};
  options.connections_max = static_cast<std::size_t>(config.max_clients);
  return options;
}

net::ListenOptions RespListenOptions(const Config& config) {
  return {.bind = config.bind,
          .port = static_cast<std::uint16_t>(config.port),
          .tls_port = static_cast<std::uint16_t>(config.tls_port),
          .unix_path = config.unix_socket,
          .unix_permissions = static_cast<unsigned>(config.unix_socket_permissions),
          .backlog = static_cast<int>(config.tcp_backlog)};
}

// Describes who can connect according to the options; sockets opened by systemd are not considered.
std::string_view ReachOf(const Config& config) {
  const bool is_tcp = config.port != 0 || config.tls_port != 0;
  const bool is_for_all = is_tcp && !std::ranges::all_of(config.bind, IsLoopback);
  return is_for_all ? "other machines can connect" : "only this machine can connect (bind)";
}

command::ServerFacts FactsWith(const std::string& config_file) {
  command::ServerFacts facts = ReadFacts();
  facts.config_file = config_file;
  return facts;
}

}  // namespace

Server::Server(const Config& config, const std::string& config_file, Log& log)
    : log_(log),
      facts_(FactsWith(config_file)),
      settings_(facts_, FitToDescriptorLimit(config, log),
                [this](const Config& changed) { return Apply(changed); }),
      request_log_(log),
      history_file_(log),
      parts_(command::WholeLanguage(), EngineOptionsOf(config),
             {.facts = facts_,
              .clock = clock_,
              .resources = resources_,
              .settings = settings_,
              .log = request_log_,
              .request_shutdown = [this] { RequestStop("SHUTDOWN"); }},
             net::BoottimeMs(), RecorderOptionsOf(config)),
      slow_lock_log_(log, parts_.locks.engine().clients()),
      connection_log_(log),
      loop_(parts_, connection_log_, LoopOptionsOf(settings_.config())),
      relay_(loop_, log),
      keeping_(parts_, loop_, log,
               {.ready = [this] { NoteReady(); },
                .stop = [this](const std::string& why) { RequestStop(why); },
                .leader_seen = [this](const auto& view) { relay_.LeaderSeen(view); },
                .joins_cluster = [this] { relay_.ServeHere(); },
                .leads = [this] { relay_.ServeHere(); }}),
      users_(parts_, loop_, log, settings_.config()),
      http_(loop_, config, log),
      tls_(loop_, log),
      sentinel_(loop_, log),
      signals_(std::make_shared<boost::asio::signal_set>(loop_.io_context())),
      systemd_(loop_.io_context()) {
  parts_.environment.persistence = &keeping_;
  parts_.environment.users = &users_;
  loop_.turn().addresses.set_count_max(static_cast<std::size_t>(config.max_clients_per_address));
  ApplyToCommands(config);
}

std::string Server::Start(bool initialises) {
  const Config& config = settings_.config();
  log_.Info("fairlockd {} starts, process {}; {}", Version(), facts_.process_id, ReachOf(config));
  if (std::string error = users_.Load(config); !error.empty()) return error;
  // This comes before any client can connect, so that a server that has accepted a client stops
  // cleanly.
  StopOnSignals();
  if (std::string error = tls_.Start(config, http_.connections()); !error.empty()) return error;
  if (std::string error = http_.Start(config, tls_.http_handshakes()); !error.empty()) return error;
  MakeDataFolder(config);
  net::ListenResult listening = OpenSockets();
  if (!listening.error.empty()) return listening.error;
  if (std::string error = users_.GuardDoor(listening.sockets, config); !error.empty()) return error;
  for (const std::string& address : listening.skipped) {
    log_.Info("this machine does not have {}; not listening there", address);
  }
  for (const net::ListeningSocket& socket : listening.sockets) {
    log_.Info("listening on {}{}", socket.name, socket.is_tls ? ", TLS" : "");
  }
  if (std::string error = history_file_.Start(config, parts_); !error.empty()) return error;
  relay_.Start(config, tls_.resp_handshakes(),
               [this](const auto& run) { keeping_.LeaderRefused(run); });
  // Requests are refused with -LOADING until the data has been read.
  const std::vector<std::string> own_files = FilesOf(config, facts_.config_file);
  if (std::string error = keeping_.Start(config, initialises, own_files); !error.empty()) {
    return error;
  }
  if (std::string error = sentinel_.Start(config); !error.empty()) return error;
  StartListening(std::move(listening.sockets));
  systemd_.StartWatchdog();
  return "";
}

net::ListenResult Server::OpenSockets() {
  const net::ListenOptions options = RespListenOptions(settings_.config());
  net::ListenResult given = SystemdService::TakeSockets(options.tls_port);
  if (!given.sockets.empty() || !given.error.empty()) return given;
  return net::Listen(options);
}

void Server::StartListening(std::vector<net::ListeningSocket> sockets) {
  const auto first_tls = std::partition(
      sockets.begin(), sockets.end(), [](const net::ListeningSocket& one) { return !one.is_tls; });
  std::vector<net::ListeningSocket> under_tls(first_tls, sockets.end());
  sockets.erase(first_tls, sockets.end());
  const bool relays = relay_.door() != nullptr;
  loop_.StartListening(std::move(sockets), relay_.door());
  loop_.StartListening(std::move(under_tls), relays ? relay_.tls_door() : tls_.resp_handshakes());
}

void Server::NoteReady() {
  const Config& config = settings_.config();
  is_ready_ = true;
  sd_notify(0, "READY=1");
  std::string where = "-s " + config.unix_socket;
  if (config.tls_port != 0) where = "--tls -p " + std::to_string(config.tls_port);
  if (config.port != 0) where = "-p " + std::to_string(config.port);
  log_.Info("ready for up to {} clients; try: redis-cli {} LOCK order:42 worker-1 PX 30000",
            config.max_clients, where);
}

RunEnd Server::Run() {
  loop_.Run();
  keeping_.EndLead();
  if (keeping_.starts_again()) return RunEnd::kDeposed;
  if (keeping_.has_failed()) {
    log_.Error("ended: {}", keeping_.error());
    return RunEnd::kStorageFailed;
  }
  log_.Info("stopped");
  return keeping_.error().empty() ? RunEnd::kStopped : RunEnd::kNotLoaded;
}

std::string Server::Apply(const Config& config) {
  const auto wanted = static_cast<std::size_t>(config.max_clients);
  const std::size_t room = MakeRoomForClients(wanted, config);
  if (room < wanted) {
    return "max_clients must be at most " + std::to_string(room) +
           ", which the limit on open files allows";
  }
  if (std::string error = users_.Apply(config, is_rereading_); !error.empty()) return error;
  loop_.connections().set_connections_max(wanted);
  loop_.turn().addresses.set_count_max(static_cast<std::size_t>(config.max_clients_per_address));
  relay_.Apply(config);
  keeping_.Apply(config);
  ApplyToTurns(config, loop_.turn().limits);
  ApplyToCommands(config);
  log_.SetLevel(config.log_level);
  LogChanges(config);
  return "";
}

void Server::ApplyToCommands(const Config& config) {
  parts_.pipeline.limits = RequestLimitsOf(config);
  ApplyToEngine(config, parts_.locks.engine().options());
  parts_.availability.BoundMemory(static_cast<std::uint64_t>(config.max_memory), net::BoottimeMs());
  parts_.values.limits() = {.elements_max = static_cast<std::size_t>(config.value_elements_max),
                            .bytes_max = static_cast<std::size_t>(config.value_bytes_max),
                            .values_max = Bound(config.max_locks)};
  parts_.newcomers.set_limits(
      {.time_ms_max = config.unauthenticated_timeout,
       .count_max = static_cast<std::size_t>(config.max_unauthenticated_clients)});
  parts_.channels.set_subscriptions_max(static_cast<std::size_t>(config.max_subscriptions));
  parts_.channels.set_lock_events_to_all_patterns(config.lock_events_to_all_patterns);
  parts_.transactions.set_limits(
      {.requests_max = static_cast<std::size_t>(config.max_transaction_requests),
       .bytes_max = static_cast<std::size_t>(config.max_transaction_size),
       .watched_keys_max = static_cast<std::size_t>(config.max_watched_keys),
       .reply_bytes_max = static_cast<std::uint64_t>(config.output_limit)});
  parts_.scripts.interpreter().set_limits(ScriptLimitsOf(config));
  parts_.event_publisher.set_key_events(
      static_cast<command::KeyEventClasses>(config.notify_keyspace_events));
  std::vector<engine::LabelRule> label_rules;
  for (const std::string& rule : config.labels) label_rules.push_back(*ParseLabelRule(rule));
  parts_.locks.engine().set_label_rules(std::move(label_rules));
  std::vector<engine::KeepRule> keep_rules;
  for (const std::string& rule : config.compat_keep_place) {
    keep_rules.push_back(*ParseKeepRule(rule));
  }
  parts_.locks.engine().options().keep_rules.Set(std::move(keep_rules));
  ApplyToSlowLockLog(config);
}

void Server::ApplyToSlowLockLog(const Config& config) {
  const bool was_on = slow_lock_log_.is_on();
  slow_lock_log_.set_limits({.wait_ms = config.log_waits_over, .hold_ms = config.log_holds_over});
  if (!was_on && slow_lock_log_.is_on()) parts_.locks.AddEventSink(slow_lock_log_);
  if (was_on && !slow_lock_log_.is_on()) parts_.locks.DropEventSink(slow_lock_log_);
}

void Server::LogChanges(const Config& config) {
  for (const Option& option : AllOptions()) {
    const std::string before = ShowOption(option, settings_.config());
    const std::string after = ShowOption(option, config);
    if (before == after) continue;
    if (option.is_secret) {
      log_.Info("{} has changed", option.name);
    } else {
      log_.Info("{} is {} now, was {}", option.name, after, before);
    }
  }
}

void Server::StopOnSignals() {
  signals_->add(SIGTERM);
  signals_->add(SIGINT);
  signals_->add(SIGHUP);
  AwaitSignal();
}

void Server::AwaitSignal() {
  signals_->async_wait(
      [this, alive = std::weak_ptr(signals_)](const boost::system::error_code& error, int signal) {
        if (!error && !alive.expired()) OnSignal(signal);
      });
}

void Server::OnSignal(int signal) {
  if (signal == SIGHUP) {
    if (!is_stopping_) Reload();
    return AwaitSignal();
  }
  RequestStop("SIG" + std::string(sigabbrev_np(signal)));
}

// Makes the next signal end the process at once, even if the loop is blocked, for example by the
// disk. To a server that would start again as a standby it is the first request to stop, and a
// deposed server has nothing left to do. One that ends because the storage has failed says so by
// its exit status, also if it was told to stop a moment later.
void Server::EndAtNextSignal() {
  struct sigaction ending {};
  ending.sa_handler = EndAtOnce<EXIT_FAILURE>;
  if (keeping_.has_failed()) ending.sa_handler = EndAtOnce<kStorageFailedStatus>;
  if (keeping_.starts_again()) ending.sa_handler = EndAtOnce<EXIT_SUCCESS>;
  signals_->clear();
  std::signal(SIGHUP, SIG_IGN);
  ::sigaction(SIGTERM, &ending, nullptr);
  ::sigaction(SIGINT, &ending, nullptr);
}

void Server::Reload() {
  if (is_ready_) SystemdService::TellReloading();
  const CommandLine line = reread_();
  is_rereading_ = true;
  const auto reloaded = line.error.empty()
                            ? settings_.Reload(FitToDescriptorLimit(line.config, log_))
                            : LiveSettings::Reloaded{.error = line.error, .ignored = {}};
  is_rereading_ = false;
  if (!reloaded.error.empty()) log_.Error("SIGHUP: nothing was changed: {}", reloaded.error);
  for (const std::string& name : reloaded.ignored) {
    log_.Warning("SIGHUP: {} is read only at startup; restart the server to change it", name);
  }
  if (reloaded.error.empty()) log_.Info("SIGHUP: the options were reloaded");
  tls_.Reload(settings_.config());
  http_.Reload();
  if (is_ready_) SystemdService::TellReloaded();
}

void Server::RequestStop(const std::string& why) {
  if (std::exchange(is_stopping_, true)) return;
  EndAtNextSignal();
  log_.Info("stopping: {}; {} clients are connected", why, loop_.connections().count());
  // If the process starts again, it does not stop from the point of view of the service manager.
  if (!keeping_.starts_again()) sd_notify(0, "STOPPING=1");
  http_.Close();
  relay_.Close();
  sentinel_.Close();
  keeping_.PrepareStop();
  loop_.RequestStop();
}

}  // namespace fairlock::server
