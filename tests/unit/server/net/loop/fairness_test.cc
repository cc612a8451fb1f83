// Which clients are served first when many of them send very many requests.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/server/net/net_test_support.h"

namespace fairlock::net {
namespace {

using Peers = std::vector<std::unique_ptr<TestPeer>>;

// Connects `count` clients and waits until the loop has accepted them.
Peers Connect(LoopOnThread& loop, std::size_t count) {
  const std::size_t before = loop.events().opened();
  Peers peers;
  for (std::size_t i = 0; i < count; ++i) {
    peers.push_back(std::make_unique<TestPeer>(loop.unix_path()));
  }
  EXPECT_TRUE(WaitUntil([&] { return loop.events().opened() >= before + count; }));
  return peers;
}

// Takes as many locks as one LOCKS page lists: a reply of at least 25 KB.
void TakeAPageOfLocks(TestPeer& peer) {
  for (int i = 0; i < 250; ++i) {
    peer.Send("LOCK " + std::string(100, 'k') + std::to_string(i) + " owner\r\n");
    ASSERT_GT(ReceiveNumber(peer), 0);
  }
}

// Returns the number of grants so far.
std::uint64_t CountGrants(
    LoopOnThread& loop, const std::function<void()>& meanwhile = [] {}) {
  std::uint64_t granted = 0;
  loop.Do([&](TurnLoop&, command::ServerParts& parts) {
    granted = parts.locks.engine().counts().granted;
    meanwhile();
  });
  return granted;
}

TEST(Fairness, LightClientsComeBeforeFlooders) {
  constexpr std::size_t kFlooders = 10;
  constexpr std::size_t kPairs = 3000;  // as many as a socket buffer holds
  LoopOnThread loop;
  TestPeer little(loop.unix_path());
  little.Send("LOCK first own\r\n");
  const std::int64_t first = ReceiveNumber(little);
  const Peers flooders = Connect(loop, kFlooders);
  CountGrants(loop, [&] {
    for (std::size_t i = 0; i < kFlooders; ++i) {
      flooders[i]->Send(LocksAndUnlocks(static_cast<int>(i), kPairs));
    }
  });
  const std::uint64_t before = CountGrants(loop, [&] { little.Send("LOCK second own\r\n"); });
  const std::int64_t second = ReceiveNumber(little);
  // A token is the number of grants so far.
  EXPECT_LT(second - first - static_cast<std::int64_t>(before), 2000);
  EXPECT_TRUE(WaitUntil([&] { return CountGrants(loop) == kFlooders * kPairs + 2; }));
}

TEST(Fairness, LightClientsComeBeforeManyThatBeginToFloodAtOnce) {
  constexpr std::size_t kFlooders = 300;
  constexpr std::size_t kPairs = 200;  // about what is received in one read
  LoopOnThread loop;
  TestPeer little(loop.unix_path());
  little.Send("LOCK first own\r\n");
  const std::int64_t first = ReceiveNumber(little);
  const Peers flooders = Connect(loop, kFlooders);
  CountGrants(loop, [&] {
    for (std::size_t i = 0; i < kFlooders; ++i) {
      flooders[i]->Send(LocksAndUnlocks(static_cast<int>(i), kPairs));
    }
    little.Send("LOCK second own\r\n");
  });
  // Far fewer grants than if each flooding client had been served once.
  EXPECT_LT(ReceiveNumber(little) - first, 5000);
  EXPECT_TRUE(WaitUntil([&] { return CountGrants(loop) == kFlooders * kPairs + 2; }));
}

TEST(Fairness, LongRepliesAreSplitIntoTurns) {
  LoopOnThread loop;
  TestPeer peer(loop.unix_path());
  TakeAPageOfLocks(peer);
  constexpr std::size_t kPages = 20;
  std::uint64_t turns = 0;
  const auto count = [&](TurnLoop&, command::ServerParts& parts) {
    turns = parts.statistics.counters.turns - turns;
  };
  loop.Do(count);
  peer.Send(Repeated("LOCKS 0 COUNT 250\r\n", kPages) + "ECHO end\r\n");
  std::string received;
  while (!received.ends_with("$3\r\nend\r\n")) received += peer.Receive(1);
  ASSERT_GT(received.size(), kPages * 25'000);
  loop.Do(count);
  EXPECT_GE(turns, kPages);
}

// Owner i holds key i and waits for key i + 1, which it learns on a channel.
void MakeChainOfWaits(TestPeer& peer, int length) {
  for (int i = 0; i < length; ++i) {
    const std::string owner = " o" + std::to_string(i);
    peer.Send("LOCK k" + std::to_string(i) + owner + "\r\n");
    ASSERT_GT(ReceiveNumber(peer), 0);
    if (i == 0) continue;
    peer.Send("LOCK k" + std::to_string(i) + " o" + std::to_string(i - 1) +
              " WAIT 1h NOTIFY news\r\n");
    ASSERT_EQ(peer.Receive(5), "$-1\r\n");
  }
}

TEST(Fairness, LongSearchesForDeadlocksAreSplitIntoTurns) {
  constexpr int kLength = 1000;
  constexpr std::size_t kSearches = 30;
  LoopOnThread loop;
  TestPeer subscriber(loop.unix_path());
  subscriber.Send("SUBSCRIBE news\r\n");
  ASSERT_EQ(subscriber.Receive(3), "*3\r");
  TestPeer peer(loop.unix_path());
  MakeChainOfWaits(peer, kLength);
  std::uint64_t turns = 0;
  const auto count = [&](TurnLoop&, command::ServerParts& parts) {
    turns = parts.statistics.counters.turns - turns;
  };
  loop.Do(count);
  peer.Send(Repeated("LOCK k0 o" + std::to_string(kLength - 1) + " WAIT 1h\r\n", kSearches) +
            "ECHO end\r\n");
  std::string received;
  while (!received.ends_with("$3\r\nend\r\n")) received += peer.Receive(1);
  ASSERT_TRUE(received.starts_with("-DEADLOCK"));
  loop.Do(count);
  EXPECT_GE(turns, kSearches / 2);
}

// Returns the figure called `name` from a reply to INFO.
std::uint64_t ReceiveFigure(TestPeer& peer, std::string_view name) {
  std::string received;
  while (!received.ends_with(name)) {
    const std::string byte = peer.Receive(1);
    if (byte.empty()) return 0;
    received += byte;
  }
  return std::stoull(peer.Receive(20));
}

TEST(Fairness, LightClientsDoNotWaitForAllLongRepliesRequestedBefore) {
  constexpr std::size_t kAsking = 1000;
  LoopOnThread loop;
  TestPeer holder(loop.unix_path());
  TakeAPageOfLocks(holder);
  TestPeer little(loop.unix_path());
  little.Send("PING\r\n");
  ASSERT_EQ(little.Receive(7), "+PONG\r\n");
  const Peers asking = Connect(loop, kAsking);
  CountGrants(loop, [&] {
    for (const auto& one : asking) one->Send("LOCKS 0 COUNT 250\r\n");
  });
  ASSERT_TRUE(WaitUntil([&] { return CountExecuted(loop) > 260; }));
  std::uint64_t before = 0;
  loop.Do([&](TurnLoop&, command::ServerParts& parts) {
    before = parts.statistics.counters.commands_processed;
    little.Send("INFO stats\r\n");
  });
  // The figure counts the commands that were executed before INFO.
  EXPECT_LT(ReceiveFigure(little, "total_commands_processed:") - before, kAsking / 4);
  EXPECT_TRUE(WaitUntil([&] { return CountExecuted(loop) == 252 + kAsking; }));
}

}  // namespace
}  // namespace fairlock::net
