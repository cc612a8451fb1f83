// Opens the sockets that clients connect to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::net {

struct ListenOptions {
  // Numeric addresses or names; `*` is every IPv4 and every IPv6 address. One with a '-' in front
  // may be missing on this machine.
  std::vector<std::string> bind;
  std::uint16_t port = 0;      // 0: no TCP, as the next one
  std::uint16_t tls_port = 0;  // of those who speak TLS
  std::string unix_path;       // empty: no unix socket
  unsigned unix_permissions = 0700;
  int backlog = 511;
  // The options that set these, for messages.
  std::string_view port_option = "--port";
  std::string_view tls_port_option = "--tls-port";
  std::string_view bind_option = "--bind";
};

// The last to take the descriptor owns it; it does not block and is not inherited.
struct ListeningSocket {
  int descriptor = -1;
  std::string name;       // "127.0.0.1:3247", "unix:/run/fairlock.sock"
  std::string unix_path;  // empty for TCP
  bool is_tls = false;    // who connects speaks TLS
};

struct ListenResult {
  std::vector<ListeningSocket> sockets;  // none if there is an error
  std::string error;                     // what could not be opened, why, and what to do about it
  std::vector<std::string> skipped;      // addresses with a '-' that this machine does not have
};

// Opens all of them or none. A path left behind by a server that is gone is replaced; a path at
// which somebody listens is not.
ListenResult Listen(const ListenOptions& options);

// One that somebody else has opened and listens on; its path, if it has one, stays theirs. It is
// for TLS if that is its port (0: it is not).
ListeningSocket AdoptListeningSocket(int descriptor, std::uint16_t tls_port);

// Closes the socket, and removes its path if it is still this socket's.
void CloseListeningSocket(const ListeningSocket& socket);

}  // namespace fairlock::net
