// Creates, starts and stops all parts of the server.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/command/server_parts.h"
#include "server/config/command_line.h"
#include "server/config/config.h"
#include "server/config/live_settings.h"
#include "server/logging/connection_log.h"
#include "server/logging/logging.h"
#include "server/logging/request_log.h"
#include "server/logging/slow_lock_log.h"
#include "server/net/loop/turn_loop.h"
#include "server/process/process_clock.h"
#include "server/process/process_resources.h"
#include "server/process/systemd_service.h"
#include "server/services/history_file.h"
#include "server/services/http_service.h"
#include "server/services/persistence_service.h"
#include "server/services/relay_service.h"
#include "server/services/sentinel_service.h"
#include "server/services/tls_service.h"
#include "server/services/user_service.h"

namespace fairlock::server {

enum class RunEnd : std::uint8_t {
  kStopped,
  kNotLoaded,
  kStorageFailed,
  kDeposed,  // another node leads, so the process starts again as a standby
};

// Used by one thread.
class Server {
 public:
  // `log` must outlive the server. `config_file` may be empty.
  Server(const Config& config, const std::string& config_file, Log& log);

  // Called at SIGHUP to read the configuration file and arguments again.
  void set_reread(std::function<CommandLine()> reread) { reread_ = std::move(reread); }

  // Opens all sockets and starts reading the data. Returns an empty string, or the error and what
  // to do about it. `initialises`: the data folder may be empty.
  [[nodiscard]] std::string Start(bool initialises);
  // Serves until SIGTERM, SIGINT or SHUTDOWN, or until the data cannot be read or written; a second
  // signal ends the process at once.
  [[nodiscard]] RunEnd Run();
  // The reason why the run ended, if it was not stopped by a signal or SHUTDOWN.
  std::string end_reason() const { return keeping_.error(); }

 private:
  void StopOnSignals();
  void AwaitSignal();
  void OnSignal(int signal);
  void EndAtNextSignal();
  void Reload();
  net::ListenResult OpenSockets();
  void StartListening(std::vector<net::ListeningSocket> sockets);
  void RequestStop(const std::string& why);
  std::string Apply(const Config& config);
  void ApplyToCommands(const Config& config);
  void ApplyToSlowLockLog(const Config& config);
  void LogChanges(const Config& config);
  void NoteReady();

  Log& log_;
  command::ServerFacts facts_;
  LiveSettings settings_;
  ProcessClock clock_;
  ProcessResources resources_;
  RequestLog request_log_;
  HistoryFile history_file_;
  command::ServerParts parts_;
  SlowLockLog slow_lock_log_;
  ConnectionLog connection_log_;
  net::TurnLoop loop_;
  RelayService relay_;  // used by a thread of keeping_
  PersistenceService keeping_;
  UserService users_;
  HttpService http_;
  TlsService tls_;
  SentinelService sentinel_;
  // A handler that runs when this server is gone notices it by a weak pointer.
  const std::shared_ptr<boost::asio::signal_set> signals_;
  SystemdService systemd_;
  std::function<CommandLine()> reread_;
  bool is_ready_ = false;
  bool is_rereading_ = false;
  bool is_stopping_ = false;
};

}  // namespace fairlock::server
