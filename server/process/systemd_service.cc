#include "server/process/systemd_service.h"

#include <fcntl.h>
#include <systemd/sd-daemon.h>

#include <string>

namespace fairlock::server {

net::ListenResult SystemdService::TakeSockets(std::uint16_t tls_port) {
  net::ListenResult result;
  const int count = sd_listen_fds(0);
  for (int i = 0; i < count; ++i) {
    const int given = SD_LISTEN_FDS_START + i;
    // The original descriptor stays open, in case this process executes itself again.
    ::fcntl(given, F_SETFD, 0);
    const int descriptor = ::fcntl(given, F_DUPFD_CLOEXEC, SD_LISTEN_FDS_START + count);
    if (sd_is_socket(descriptor, AF_UNSPEC, SOCK_STREAM, 1) <= 0) {
      result.error =
          "the service manager passed descriptor " + std::to_string(given) +
          ", which is not a listening stream socket; the socket unit must use only ListenStream=";
      return result;
    }
    result.sockets.push_back(net::AdoptListeningSocket(descriptor, tls_port));
  }
  return result;
}

void SystemdService::StartWatchdog() {
  if (sd_watchdog_enabled(0, &interval_us_) > 0) TellAlive();
}

void SystemdService::TellAlive() {
  AssertInLoop();
  sd_notify(0, "WATCHDOG=1");
  // Notifies at half the interval, as systemd's documentation recommends.
  alive_.Set(static_cast<engine::DurationMs>(interval_us_ / 2'000));
}

void SystemdService::TellReloading() { sd_notify(0, "RELOADING=1"); }

void SystemdService::TellReloaded() { sd_notify(0, "READY=1"); }

}  // namespace fairlock::server
