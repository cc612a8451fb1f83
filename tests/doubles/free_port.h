// Ports for the servers that tests start.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <random>

namespace fairlock::tests {

// Returns a bound socket, or -1 if the port of 127.0.0.1 is not free.
inline int BindTo(int port) {
  const int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (bind(bound, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return bound;
  close(bound);
  return -1;
}

// Returns a free port of 127.0.0.1. No other process of the tests gets it before this process ends:
// see free_port in tests/integration/own_server.py, which states the rule for all languages.
inline std::uint16_t FreePort() {
  static std::random_device chance;
  std::uniform_int_distribution<int> halves(10'000, 15'999);
  while (true) {
    const int port = 2 * halves(chance);
    const int lease = BindTo(port + 1);  // stays open until the process ends
    if (lease < 0) continue;
    const int probe = BindTo(port);
    close(probe >= 0 ? probe : lease);
    if (probe >= 0) return static_cast<std::uint16_t>(port);
  }
}

}  // namespace fairlock::tests
