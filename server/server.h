// Builds, starts and stops all parts of the server.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <memory>
#include <string>

#include "server/command/dispatcher.h"
#include "server/config.h"
#include "server/logging.h"
#include "server/net/turn_loop.h"
#include "server/net_log.h"
#include "server/process_environment.h"

namespace fairlock::server {

// Made, started and run by one thread.
class Server {
 public:
  // `log` must outlive it. `config_file` may be empty.
  Server(const Config& config, const std::string& config_file, Log& log);

  // Opens all sockets. Empty: done; else what went wrong, and what to do about it.
  [[nodiscard]] std::string Start();
  // Serves until SIGTERM, SIGINT or SHUTDOWN; a second signal ends the process at once.
  void Run();

 private:
  void StopOnSignals();
  void OnSignal(int signal);
  void RequestStop(const std::string& why);
  std::string Apply(const Config& config);
  void ApplyToDispatcher(const Config& config);
  void LogChanges(const Config& config);
  void LogHowToTry(const Config& config);

  Log& log_;
  ProcessEnvironment environment_;
  command::Dispatcher dispatcher_;
  NetLog net_log_;
  net::TurnLoop loop_;
  boost::asio::signal_set signals_;
  bool is_stopping_ = false;
};

}  // namespace fairlock::server
