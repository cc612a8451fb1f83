// A port of a leader, for tests of the relay and the probe.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "server/net/relay/leader_route.h"
#include "tests/doubles/free_port.h"
#include "tests/unit/server/net/net_test_support.h"

namespace fairlock::net {

// Listens on a loopback port; the test plays the leader's part.
class LeaderPort {
 public:
  LeaderPort() : port_(tests::FreePort()) {}
  ~LeaderPort() { Close(); }

  LeaderAddress address() const { return {.host = "127.0.0.1", .port = port_}; }
  void Open() {
    const int on = 1;
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(listening_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port_);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
    ASSERT_EQ(::listen(listening_, 16), 0);
  }
  OwnedDescriptor Accept() { return OwnedDescriptor(::accept(listening_, nullptr, nullptr)); }
  bool AwaitConnection(int ms) const {
    pollfd listening{.fd = listening_, .events = POLLIN, .revents = 0};
    return ::poll(&listening, 1, ms) == 1;
  }
  void Close() {
    if (listening_ >= 0) ::close(listening_);
    listening_ = -1;
  }

 private:
  const std::uint16_t port_;
  int listening_ = -1;
};

}  // namespace fairlock::net
