// Sets up HTTP: its options, token and sockets.
#pragma once

#include <string>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/config/config.h"
#include "server/http/api.h"
#include "server/http/minute_figures.h"
#include "server/logging/logging.h"
#include "server/net/http/http_server.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/relay/alarm.h"
#include "server/net/tls/tls_connection_sink.h"
#include "server/net/tls/tls_handshakes.h"

namespace fairlock::server {

// Loop-confined; destroyed before the loop.
class HttpService : contracts::LoopConfined {
 public:
  HttpService(net::TurnLoop& loop, const Config& config, Log& log);

  // Opens the sockets, if HTTP is configured. With `tls`, that object accepts the clients and
  // passes them on to connections(). Returns an empty string, or the error and what to do about it.
  [[nodiscard]] std::string Start(const Config& config, net::TlsHandshakes* tls);
  net::TlsConnectionSink& connections() { return connections_; }
  void Reload() { connections_.ReloadAuthorities(); }
  void Close();

 private:
  void NoteMinute();

  net::TurnLoop& loop_;
  Log& log_;
  const std::vector<http::Asset> page_;
  http::Figures figures_;
  net::Alarm minute_;
  http::Api api_;
  net::HttpServer connections_;
};

}  // namespace fairlock::server
