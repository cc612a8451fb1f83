#include "server/net/relay/relay.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "tests/unit/server/net/net_test_support.h"
#include "tests/unit/server/net/relay/leader_port.h"

namespace fairlock::net {
namespace {

std::string ReceiveFrom(const OwnedDescriptor& socket, std::size_t bytes) {
  std::string received(bytes, '\0');
  const ssize_t count = ::recv(socket.number(), received.data(), bytes, MSG_WAITALL);
  received.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return received;
}

// Runs a loop whose relay is given one end of a socket pair for each client.
class RelayTest : public testing::Test {
 protected:
  RelayTest() {
    loop_.Do([this](TurnLoop& loop, command::ServerParts&) {
      relay_ = std::make_unique<Relay>(loop.io_context(), loop.turn(),
                                       RelayOptions{.parked_ms_max = 400},
                                       OwnSinks{.plain = loop.connections()});
    });
  }
  ~RelayTest() override {
    loop_.Do([this](TurnLoop&, command::ServerParts&) { relay_.reset(); });
  }

  OwnedDescriptor Connect() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    loop_.Do([this, end = ends[1]](TurnLoop&, command::ServerParts&) {
      relay_->door().TakeConnection(end, {.peer = "unix:0", .local = "unix:0", .descriptor = end});
    });
    return OwnedDescriptor(ends[0]);
  }
  void SetLeader(std::optional<LeaderAddress> leader) {
    loop_.Do([&](TurnLoop&, command::ServerParts&) { relay_->SetLeader(leader); });
  }

  LoopOnThread loop_;
  LeaderPort leader_;
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, PassesBytesAndHalfClosesOnInBothDirections) {
  leader_.Open();
  SetLeader(leader_.address());
  const OwnedDescriptor client = Connect();
  const OwnedDescriptor server = leader_.Accept();
  ASSERT_EQ(::send(client.number(), "ask", 3, 0), 3);
  ::shutdown(client.number(), SHUT_WR);
  EXPECT_EQ(ReceiveFrom(server, 4), "ask");
  ASSERT_EQ(::send(server.number(), "reply", 5, 0), 5);
  ::shutdown(server.number(), SHUT_WR);
  EXPECT_EQ(ReceiveFrom(client, 6), "reply");
}

TEST_F(RelayTest, AParkedConnectionIsRelayedOnceALeaderIsKnown) {
  const OwnedDescriptor client = Connect();
  ASSERT_EQ(::send(client.number(), "ask", 3, 0), 3);
  leader_.Open();
  SetLeader(leader_.address());
  const OwnedDescriptor server = leader_.Accept();
  EXPECT_EQ(ReceiveFrom(server, 3), "ask");
}

TEST_F(RelayTest, ARefusedConnectionIsTriedAgain) {
  SetLeader(leader_.address());
  const OwnedDescriptor client = Connect();
  ASSERT_EQ(::send(client.number(), "ask", 3, 0), 3);
  leader_.Open();
  const OwnedDescriptor server = leader_.Accept();
  EXPECT_EQ(ReceiveFrom(server, 3), "ask");
}

TEST_F(RelayTest, WithoutALeaderAClientIsToldAndClosed) {
  const OwnedDescriptor client = Connect();
  EXPECT_EQ(ReceiveFrom(client, 1000), "-CLUSTERDOWN no node leads the fleet; try again\r\n");
}

TEST_F(RelayTest, ClosesRelayedConnectionsWhenTheLeadershipMoves) {
  leader_.Open();
  SetLeader(leader_.address());
  const OwnedDescriptor client = Connect();
  const OwnedDescriptor server = leader_.Accept();
  ASSERT_EQ(::send(client.number(), "ask", 3, 0), 3);
  EXPECT_EQ(ReceiveFrom(server, 3), "ask");
  SetLeader(std::nullopt);
  EXPECT_EQ(ReceiveFrom(client, 1), "");
  EXPECT_EQ(ReceiveFrom(server, 1), "");
}

TEST_F(RelayTest, ReadsNoFasterThanTheOtherSideTakes) {
  leader_.Open();
  SetLeader(leader_.address());
  const OwnedDescriptor client = Connect();
  const OwnedDescriptor server = leader_.Accept();
  const std::string block(64 * 1024, 'x');
  std::size_t sent = 0;
  // The kernel's buffers are bounded, but a relay that buffered without a bound would take
  // everything.
  for (int idle = 0; idle < 20 && sent < (1U << 30);) {
    const ssize_t count = ::send(client.number(), block.data(), block.size(), MSG_DONTWAIT);
    if (count > 0) sent += static_cast<std::size_t>(count);
    if (count > 0) idle = 0;
    if (count <= 0) {
      ++idle;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  EXPECT_LT(sent, 1U << 30);
  ::shutdown(client.number(), SHUT_WR);
  EXPECT_EQ(ReceiveFrom(server, sent).size(), sent);
}

TEST_F(RelayTest, AParkedConnectionIsServedHereOnceThisNodeLeads) {
  const OwnedDescriptor client = Connect();
  ASSERT_EQ(::send(client.number(), "PING\r\n", 6, 0), 6);
  loop_.Do([this](TurnLoop&, command::ServerParts&) { relay_->ServeHere(); });
  EXPECT_EQ(ReceiveFrom(client, 7), "+PONG\r\n");
}

}  // namespace
}  // namespace fairlock::net
