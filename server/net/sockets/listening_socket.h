// Opens the sockets that clients connect to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::net {

struct ListenOptions {
  // Numeric addresses or names; `*` stands for every IPv4 and every IPv6 address. An address with
  // the prefix '-' is skipped if this machine does not have it.
  std::vector<std::string> bind;
  std::uint16_t port = 0;      // 0: none
  std::uint16_t tls_port = 0;  // for TLS; 0: none
  std::string unix_path;       // empty: no unix socket
  unsigned unix_permissions = 0700;
  int backlog = 511;
  // The names of the options, for error messages.
  std::string_view port_option = "--port";
  std::string_view tls_port_option = "--tls-port";
  std::string_view bind_option = "--bind";
};

// The descriptor is non-blocking and close-on-exec. It belongs to the receiver of this struct.
struct ListeningSocket {
  int descriptor = -1;
  std::string name;       // "127.0.0.1:3247", "unix:/run/fairlock.sock"
  std::string unix_path;  // empty for TCP
  bool is_tls = false;    // its clients speak TLS
};

struct ListenResult {
  std::vector<ListeningSocket> sockets;  // none if there is an error
  std::string error;                     // what could not be opened, why, and what to do about it
  std::vector<std::string> skipped;      // addresses with '-' that this machine does not have
};

// Opens all sockets or none. Replaces the unix socket of a server that has exited, but not one on
// which a process listens.
ListenResult Listen(const ListenOptions& options);

// Adopts a listening socket that another process, such as systemd, has opened. Its path, if any,
// is not removed on close. It is for TLS if its port is `tls_port` and not 0.
ListeningSocket AdoptListeningSocket(int descriptor, std::uint16_t tls_port);

// Closes the socket, and removes its path if it is still this socket's.
void CloseListeningSocket(const ListeningSocket& socket);

}  // namespace fairlock::net
