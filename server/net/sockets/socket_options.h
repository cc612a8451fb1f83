// The options of every TCP connection of a client.
#pragma once

namespace fairlock::net {

struct SocketOptions {
  // Idle time before the first TCP keepalive probe. Three more follow, at intervals of a third of
  // that time. 0: no probes.
  int keepalive_seconds = 300;
  // How long sent bytes may remain unacknowledged before the connection counts as lost. 0: as long
  // as the kernel retries.
  int user_timeout_ms = 0;
};

// Sets TCP_NODELAY, keepalive and the user timeout on a connection, or on a listening socket, whose
// connections inherit them. Failures are ignored: serving without an option is better than not
// serving.
void ApplyToTcp(int descriptor, const SocketOptions& options);

}  // namespace fairlock::net
