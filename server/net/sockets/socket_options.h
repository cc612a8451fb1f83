// The options of a client's TCP connection, its address as text, and its end.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

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

// "127.0.0.1:3247" or "[::1]:3247"; for a unix socket `unix_path` and ":0", as Redis shows it.
std::string FormatAddress(const sockaddr_storage& address, std::string_view unix_path);

// The same for the local end of a connected socket; empty: the kernel does not know it.
std::string FormatLocalAddress(int descriptor, std::string_view unix_path);

// Sends as much as fits into the socket's buffer, which is a few lines for a new socket.
void SendLastWords(int socket, std::string_view words);

// Call this before closing the socket. Ends the sending side and reads some of what has arrived:
// closing with unread bytes would reset the connection, and the peer might not see the last words.
void EndInGoodOrder(int socket);

}  // namespace fairlock::net
