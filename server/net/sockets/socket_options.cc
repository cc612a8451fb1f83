#include "server/net/sockets/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace fairlock::net {

namespace {

void Set(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof(value));
}

// With TCP_USER_TIMEOUT, the kernel considers a connection lost at the first unanswered probe after
// that time. A single probe may get lost, so several are sent before that. The intervals differ
// between connections, because simultaneous probes of thousands of connections would overflow a
// queue in the kernel.
void ApplyKeepalive(int descriptor, const SocketOptions& options) {
  constexpr int kProbes = 4;
  int idle = options.keepalive_seconds;
  int interval = std::max(1, idle / 3);
  if (options.user_timeout_ms > 0) {
    const int lost_after = options.user_timeout_ms / 1000;
    idle = std::clamp(lost_after / 2, 1, idle);
    interval = std::max(1, (lost_after - idle) / kProbes);
  }
  const auto spread = [descriptor](int seconds) {
    return std::max(1, seconds - descriptor % (seconds / 4 + 1));
  };
  Set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, spread(idle));
  Set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, spread(interval));
  Set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

void ApplyToTcp(int descriptor, const SocketOptions& options) {
  Set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  if (options.keepalive_seconds > 0) ApplyKeepalive(descriptor, options);
  if (options.user_timeout_ms > 0) {
    Set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, options.user_timeout_ms);
  }
}

}  // namespace fairlock::net
