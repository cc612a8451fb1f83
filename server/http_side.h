// The HTTP side of the server, put together: settings, token, sockets.
#pragma once

#include <string>

#include "server/config.h"
#include "server/http/api.h"
#include "server/logging.h"
#include "server/net/http_server.h"
#include "server/net/turn_loop.h"

namespace fairlock::server {

// Loop-confined; destroyed before the loop.
class HttpSide {
 public:
  HttpSide(net::TurnLoop& loop, const Config& config, Log& log);

  // Opens the sockets, if HTTP is wanted. Empty: done; else what went wrong, and what to do.
  [[nodiscard]] std::string Start(const Config& config);
  void Close() { connections_.Close(); }

 private:
  net::TurnLoop& loop_;
  Log& log_;
  http::Api api_;
  net::HttpServer connections_;
};

}  // namespace fairlock::server
