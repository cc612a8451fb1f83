// What the service manager of the machine (systemd) gives us, and what it is told.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>

#include "server/net/listening_socket.h"

namespace fairlock::server {

// Without one nothing is given, and what it is told goes nowhere. Loop-confined.
class SystemdService {
 public:
  explicit SystemdService(boost::asio::io_context& context) : timer_(context) {}

  // The sockets on which it listens in our place (socket activation). None, and no error: we have
  // to open our own. They stay its own: paths of unix sockets are not removed. One of `tls_port`
  // (0: none) is for TLS.
  static net::ListenResult TakeSockets(std::uint16_t tls_port);

  // Tells it from now on that the loop turns, as often as it asked for (WatchdogSec=).
  void StartWatchdog();

  static void TellReloading();
  static void TellReloaded();

 private:
  void TellAlive();

  boost::asio::steady_timer timer_;
  std::uint64_t interval_us_ = 0;
};

}  // namespace fairlock::server
