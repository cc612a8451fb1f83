#include "server/net/sockets/acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "server/net/sockets/listening_socket.h"
#include "tests/doubles/free_port.h"
#include "tests/unit/server/net/net_test_support.h"

namespace fairlock::net {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;
using testing::StartsWith;

class TakenConnections final : public ConnectionSink {
 public:
  ~TakenConnections() {
    for (const command::ClientAddress& address : taken) close(address.descriptor);
  }

  void TakeConnection(int, command::ClientAddress address) override { taken.push_back(address); }
  void LogAcceptFailed(int error) override { errors.push_back(error); }

  std::vector<command::ClientAddress> taken;
  std::vector<int> errors;
};

int OptionOf(int descriptor, int level, int option) {
  int value = 0;
  socklen_t bytes = sizeof(value);
  EXPECT_EQ(getsockopt(descriptor, level, option, &value, &bytes), 0);
  return value;
}

class AcceptorTest : public testing::Test {
 protected:
  ~AcceptorTest() override {
    for (const int peer : peers_) close(peer);
    acceptor_->Close();
    io_.restart();
    io_.poll();
  }

  void Listen(const ListenOptions& options) {
    ListenResult result = net::Listen(options);
    ASSERT_EQ(result.error, "");
    listening_ = result.sockets[0].descriptor;
    acceptor_ = std::make_unique<Acceptor>(
        io_, std::move(result.sockets[0]),
        SocketOptions{.keepalive_seconds = 90, .user_timeout_ms = 45'000});
    acceptor_->Start();
  }

  void ListenOnUnix() {
    ListenOptions options;
    options.unix_path = folder_.PathOf("socket");
    Listen(options);
  }

  // Opens `count` connections to the address on which the acceptor listens.
  void Connect(int count) {
    sockaddr_storage address{};
    socklen_t bytes = sizeof(address);
    ASSERT_EQ(getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    for (int i = 0; i < count; ++i) {
      peers_.push_back(socket(address.ss_family, SOCK_STREAM, 0));
      ASSERT_EQ(connect(peers_.back(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
    }
  }

  // Does what the loop does in one turn.
  void Accept(std::size_t accepts_max, engine::TimeMs now) {
    io_.restart();
    io_.poll();
    acceptor_->Accept(accepts_max, now, keeper_);
  }

  TemporaryFolder folder_;
  boost::asio::io_context io_;
  std::unique_ptr<Acceptor> acceptor_;
  TakenConnections keeper_;
  int listening_ = -1;
  std::vector<int> peers_;
};

TEST_F(AcceptorTest, TakesABatchAtATimeAndSaysThatThereIsMore) {
  ListenOnUnix();
  Connect(5);
  EXPECT_EQ(acceptor_->next_accept_at(), engine::kNever);
  Accept(2, 1000);
  EXPECT_EQ(keeper_.taken.size(), 2U);
  EXPECT_LE(acceptor_->next_accept_at(), 1000);
  Accept(100, 1001);
  EXPECT_EQ(keeper_.taken.size(), 5U);
  EXPECT_EQ(acceptor_->next_accept_at(), engine::kNever);
  Connect(1);
  Accept(100, 1002);
  EXPECT_EQ(keeper_.taken.size(), 6U);
  EXPECT_THAT(keeper_.taken[0].peer, testing::EndsWith("/socket:0"));
}

TEST_F(AcceptorTest, TcpConnectionsHaveTheOptions) {
  ListenOptions options;
  options.bind = {"127.0.0.1"};
  options.port = tests::FreePort();
  Listen(options);
  Connect(1);
  Accept(10, 1000);
  ASSERT_EQ(keeper_.taken.size(), 1U);
  EXPECT_THAT(keeper_.taken[0].peer, StartsWith("127.0.0.1:"));
  EXPECT_EQ(keeper_.taken[0].local, "127.0.0.1:" + std::to_string(options.port));
  const int descriptor = keeper_.taken[0].descriptor;
  EXPECT_EQ(OptionOf(descriptor, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(OptionOf(descriptor, SOL_SOCKET, SO_KEEPALIVE), 1);
  // The times are short enough for several probes before the time-out, and differ between
  // connections, so that not all are probed at once.
  EXPECT_THAT(OptionOf(descriptor, IPPROTO_TCP, TCP_KEEPIDLE), AllOf(Ge(17), Le(22)));
  EXPECT_THAT(OptionOf(descriptor, IPPROTO_TCP, TCP_KEEPINTVL), AllOf(Ge(4), Le(5)));
  EXPECT_EQ(OptionOf(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT), 45'000);
}

TEST_F(AcceptorTest, PausesWithoutDescriptorsAndGoesOnAfterwards) {
  ListenOnUnix();
  Connect(2);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{.rlim_cur = 3, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  Accept(10, 1000);
  Accept(10, 1000 + Acceptor::kPauseMs - 1);
  const engine::TimeMs next_accept_at = acceptor_->next_accept_at();
  const std::vector<int> errors = keeper_.errors;
  Accept(10, 1000 + Acceptor::kPauseMs);
  // The limit is raised before anything is checked, because sanitizers need descriptors, too.
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_THAT(errors, testing::ElementsAre(EMFILE));
  EXPECT_EQ(next_accept_at, 1000 + Acceptor::kPauseMs);
  EXPECT_THAT(keeper_.errors, testing::ElementsAre(EMFILE, EMFILE));
  Accept(10, 1000 + 2 * Acceptor::kPauseMs);
  EXPECT_EQ(keeper_.taken.size(), 2U);
}

}  // namespace
}  // namespace fairlock::net
