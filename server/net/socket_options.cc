#include "server/net/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace fairlock::net {

namespace {

void Set(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof(value));
}

}  // namespace

void ApplyToTcp(int descriptor, const SocketOptions& options) {
  Set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  if (options.keepalive_seconds > 0) {
    Set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    Set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, options.keepalive_seconds);
    Set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, options.keepalive_seconds / 3));
    Set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
  }
  if (options.user_timeout_ms > 0) {
    Set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, options.user_timeout_ms);
  }
}

}  // namespace fairlock::net
