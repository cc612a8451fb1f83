// Socket activation, watchdog and reload notifications for the service manager (systemd).
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>

#include "contracts/loop_confined.h"
#include "server/net/relay/alarm.h"
#include "server/net/sockets/listening_socket.h"

namespace fairlock::server {

// Without a service manager, there are no sockets, and notifications do nothing.
class SystemdService : contracts::LoopConfined {
 public:
  explicit SystemdService(boost::asio::io_context& context)
      : alive_(context, [this] { TellAlive(); }) {}

  // The sockets that systemd opened for us (socket activation). If empty without an error, the
  // server must open its own. systemd owns the sockets, so paths of unix sockets are not removed. A
  // socket with the port `tls_port` (0 if there is none) is for TLS. The environment and the
  // original descriptors stay as they are, in case the process executes itself again.
  static net::ListenResult TakeSockets(std::uint16_t tls_port);

  // Notifies the watchdog periodically, as WatchdogSec= requires, that the loop is running.
  void StartWatchdog();

  static void TellReloading();
  static void TellReloaded();

 private:
  void TellAlive();

  net::Alarm alive_;
  std::uint64_t interval_us_ = 0;
};

}  // namespace fairlock::server
