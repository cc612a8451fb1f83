#include "server/net/sentinel/sentinel_server.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/sockets/listening_socket.h"
#include "tests/unit/server/command/fake_fleet_test_support.h"
#include "tests/unit/server/net/net_test_support.h"

namespace fairlock::net {
namespace {

constexpr std::size_t kSentinelPeersMax = 3;
constexpr std::string_view kAskForLeader = "SENTINEL GET-MASTER-ADDR-BY-NAME main\r\n";
constexpr std::string_view kLeaderIsLock2 = "*2\r\n$13\r\nlock2.example\r\n$4\r\n3247\r\n";

class SentinelServerTest : public testing::Test {
 protected:
  SentinelServerTest() {
    loop_.Do([this](TurnLoop& loop, command::ServerParts&) {
      fleet_.SetLeader("lock2");
      watch_.Look();
      server_.emplace(loop, watch_, kSentinelPeersMax);
      ListenOptions options{.bind = {}, .unix_path = path_};
      loop.StartListening(Listen(options).sockets, &*server_);
    });
  }
  ~SentinelServerTest() override { CloseServer(); }

  void CloseServer() {
    loop_.Do([this](TurnLoop&, command::ServerParts&) {
      if (server_) server_->Close();
    });
  }

  void Lead(std::string_view name) {
    loop_.Do([this, name](TurnLoop&, command::ServerParts&) {
      fleet_.SetLeader(name);
      for (const sentinel::Message& message : watch_.Look()) server_->Publish(message);
    });
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.PathOf("sentinel.sock");
  command::FakeFleet fleet_;
  sentinel::LeaderWatch watch_{fleet_};
  std::optional<SentinelServer> server_;
  LoopOnThread loop_;
};

TEST_F(SentinelServerTest, AnswersRequestsThatArriveInPieces) {
  TestPeer peer(path_);
  for (const char byte : kAskForLeader) peer.Send({&byte, 1});
  EXPECT_EQ(peer.Receive(kLeaderIsLock2.size()), kLeaderIsLock2);
}

TEST_F(SentinelServerTest, AnswersManyRequestsAtOnceInOrder) {
  TestPeer peer(path_);
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "PING " + std::to_string(i % 10) + "\r\n";
  peer.Send(requests);
  std::string replies;
  for (int i = 0; i < 1000; ++i) replies += "$1\r\n" + std::to_string(i % 10) + "\r\n";
  EXPECT_EQ(peer.Receive(replies.size()), replies);
}

TEST_F(SentinelServerTest, PushesToASubscriberThatSendsNothing) {
  TestPeer peer(path_);
  peer.Send("SUBSCRIBE +switch-master\r\n");
  const std::string_view confirmed = "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n";
  ASSERT_EQ(peer.Receive(confirmed.size()), confirmed);
  Lead("lock1");
  const std::string_view message =
      "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n"
      "$42\r\nmain lock2.example 3247 lock1.example 3247\r\n";
  EXPECT_EQ(peer.Receive(message.size()), message);
}

TEST_F(SentinelServerTest, SendsTheLastReplyBeforeItCloses) {
  TestPeer quitter(path_);
  quitter.Send("QUIT\r\nPING\r\n");
  EXPECT_EQ(quitter.Receive(100), "+OK\r\n");
  TestPeer stranger(path_);
  stranger.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(stranger.Receive(19), "-ERR Protocol error");
}

TEST_F(SentinelServerTest, RefusesConnectionsAboveTheLimit) {
  std::vector<std::unique_ptr<TestPeer>> peers;
  for (std::size_t i = 0; i < kSentinelPeersMax; ++i) {
    peers.push_back(std::make_unique<TestPeer>(path_));
    peers.back()->Send("PING\r\n");
    ASSERT_EQ(peers.back()->Receive(7), "+PONG\r\n");
  }
  TestPeer one_more(path_);
  EXPECT_EQ(one_more.Receive(100), "-ERR max number of clients reached\r\n");
  peers.front()->Close();
  EXPECT_TRUE(WaitUntil([this] {
    TestPeer next(path_);
    return next.TrySend("PING\r\n") && next.Receive(7) == "+PONG\r\n";
  }));
}

TEST_F(SentinelServerTest, ClosesTheOldestIncompleteOneAtTheLimit) {
  TestPeer complete(path_);
  complete.Send("PING\r\n");
  ASSERT_EQ(complete.Receive(7), "+PONG\r\n");
  // One has sent nothing, and one half of a request; the first has sent half of its second.
  TestPeer silent(path_);
  TestPeer half(path_);
  half.Send("PIN");
  complete.Send("PIN");
  std::vector<std::unique_ptr<TestPeer>> later;
  for (TestPeer* gone : {&silent, &half, &complete}) {
    later.push_back(std::make_unique<TestPeer>(path_));
    later.back()->Send("PING\r\n");
    EXPECT_EQ(later.back()->Receive(7), "+PONG\r\n");
    EXPECT_EQ(gone->Receive(1), "");
  }
}

TEST_F(SentinelServerTest, ClosesItsConnectionsWithIt) {
  TestPeer peer(path_);
  peer.Send("PING\r\n");
  ASSERT_EQ(peer.Receive(7), "+PONG\r\n");
  CloseServer();
  EXPECT_EQ(peer.Receive(1), "");
  TestPeer late(path_);
  EXPECT_EQ(late.Receive(100), "-ERR max number of clients reached\r\n");
}

}  // namespace
}  // namespace fairlock::net
