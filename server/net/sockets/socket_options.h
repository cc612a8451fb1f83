// What is set on every TCP connection of a client.
#pragma once

namespace fairlock::net {

struct SocketOptions {
  // A peer is asked for a sign of life after so long a silence, then three times at a third of it.
  // 0: never.
  int keepalive_seconds = 300;
  // How long sent bytes may stay unacknowledged before the connection counts as lost. 0: as long
  // as the system retries.
  int user_timeout_ms = 0;
};

// No delay, keepalive and user timeout, for a connection or for a listening socket, from which its
// connections inherit them. Serving without one of them is better than not serving, so failures are
// ignored.
void ApplyToTcp(int descriptor, const SocketOptions& options);

}  // namespace fairlock::net
