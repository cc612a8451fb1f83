#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/net/clock.h"
#include "tests/unit/net_test_support.h"

namespace fairlock::net {
namespace {

using testing::ElementsAre;

std::string Repeated(std::string_view text, std::size_t count) {
  std::string repeated;
  for (std::size_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

std::string Echo(std::size_t bytes) {
  const std::string size = std::to_string(bytes);
  return "*2\r\n$4\r\nECHO\r\n$" + size + "\r\n" + std::string(bytes, 'x') + "\r\n";
}

std::string EchoReply(std::size_t bytes) {
  return "$" + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
}

// A connection's LOCK waits for `key`.
bool IsWaited(LoopOnThread& loop) {
  std::uint64_t waiters = 0;
  loop.Do([&](TurnLoop&, command::Dispatcher& dispatcher) {
    waiters = dispatcher.engine().counts().places;
  });
  return waiters == 1;
}

std::uint64_t CountExecuted(LoopOnThread& loop) {
  std::uint64_t executed = 0;
  loop.Do([&](TurnLoop&, command::Dispatcher& dispatcher) {
    executed = dispatcher.counters().commands_processed;
  });
  return executed;
}

TEST(TurnLoop, SplitsAPipelineIntoTurns) {
  LoopOptions options;
  options.limits.requests_max = 2;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  peer.Send(Repeated("PING\r\n", 100));
  EXPECT_EQ(peer.Receive(700), Repeated("+PONG\r\n", 100));
  loop.Stop();
  EXPECT_GE(loop.counters_after_stop().turns, 50U);
}

TEST(TurnLoop, DoesNotWaitWhileRequestsAreLeft) {
  LoopOptions options;
  options.limits.requests_max = 1;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  const std::string requests = "LOCK key other\r\n" + Repeated("PING\r\n", 5);
  peer.Send(requests);
  peer.Send("LOCK key own WAIT 100\r\nPING\r\n");  // its limit is reached without any traffic
  const std::string expected = ":1\r\n" + Repeated("+PONG\r\n", 5) + "$-1\r\n+PONG\r\n";
  EXPECT_EQ(peer.Receive(expected.size()), expected);
}

TEST(TurnLoop, ServesAllWhenATurnTakesOnlyOneEvent) {
  LoopOptions options;
  options.limits.handlers_max = 1;
  options.limits.accepts_max = 1;
  LoopOnThread loop(options);
  std::vector<std::unique_ptr<TestPeer>> peers;
  for (int i = 0; i < 50; ++i) peers.push_back(std::make_unique<TestPeer>(loop.unix_path()));
  for (const auto& peer : peers) peer->Send("PING\r\n");
  for (const auto& peer : peers) EXPECT_EQ(peer->Receive(7), "+PONG\r\n");
}

TEST(TurnLoop, ServesAllWhenTheArenaIsFull) {
  LoopOnThread loop;
  const std::size_t bytes = TurnArena::kWindowBytes + 10;
  std::vector<std::unique_ptr<TestPeer>> peers;
  for (std::size_t i = 0; i < 2 * TurnArena::kBytes / TurnArena::kWindowBytes; ++i) {
    peers.push_back(std::make_unique<TestPeer>(loop.unix_path()));
  }
  ASSERT_TRUE(WaitUntil([&] { return loop.events().opened() == peers.size(); }));
  // All of it lies ready when the loop comes to look.
  loop.Do([&](TurnLoop&, command::Dispatcher&) {
    for (const auto& peer : peers) peer->Send(Echo(bytes));
  });
  for (const auto& peer : peers) {
    EXPECT_EQ(peer->Receive(EchoReply(bytes).size()), EchoReply(bytes));
  }
}

TEST(TurnLoop, ReadsABoundedAmountBehindARequestThatWaits) {
  LoopOptions options;
  options.limits.waiting_input_bytes_max = 1000;
  LoopOnThread loop(options);
  TestPeer holder(loop.unix_path());
  holder.Send("LOCK key holder\r\n");
  EXPECT_EQ(holder.Receive(1), ":");
  auto waiter = std::make_unique<TestPeer>(loop.unix_path());
  waiter->Send("LOCK key own WAIT FOREVER\r\n");
  ASSERT_TRUE(WaitUntil([&] { return IsWaited(loop); }));
  const std::string requests = Repeated("PING\r\n", 500);
  waiter->Send(requests);
  ASSERT_TRUE(WaitUntil([&] { return waiter->unreceived_bytes() == 0; }));
  waiter->Send(requests);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(IsWaited(loop));
  EXPECT_GT(waiter->unreceived_bytes(), 0);

  // Its end is noticed all the same.
  waiter->Close();
  EXPECT_TRUE(WaitUntil([&] { return !IsWaited(loop); }));
}

TEST(TurnLoop, NeitherReadsNorExecutesWhileRepliesPileUp) {
  LoopOptions options;
  options.limits.output_pause_bytes = 10'000;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  constexpr std::size_t kRequests = 3000;
  std::thread sender([&] { peer.Send(Repeated(Echo(1000), kRequests)); });
  // As many as the kernel has room for the replies of, and a little more.
  std::uint64_t executed = 0;
  for (int unchanged = 0; unchanged < 100; ++unchanged) {
    if (CountExecuted(loop) != executed) unchanged = 0;
    executed = CountExecuted(loop);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(executed, 10U);
  EXPECT_LT(executed, 1000U);
  const std::string reply = EchoReply(1000);
  EXPECT_EQ(peer.Receive(kRequests * reply.size()), Repeated(reply, kRequests));
  sender.join();
}

TEST(TurnLoop, TellsWhyAConnectionWasClosed) {
  LoopOnThread loop;
  TestPeer(loop.unix_path()).Close();
  ASSERT_TRUE(WaitUntil([&] { return loop.events().close_reasons().size() == 1; }));
  TestPeer quits(loop.unix_path());
  quits.Send("QUIT\r\n");
  EXPECT_EQ(quits.Receive(100), "+OK\r\n");
  TestPeer killed(loop.unix_path());
  TestPeer killer(loop.unix_path());
  killed.Send("CLIENT ID\r\n");
  const std::string id = killed.Receive(4);
  killer.Send("CLIENT KILL ID " + id.substr(1, 1) + "\r\n");
  EXPECT_EQ(killer.Receive(4), ":1\r\n");
  EXPECT_EQ(killed.Receive(1), "");
  EXPECT_THAT(loop.events().close_reasons(),
              ElementsAre(CloseReason::kPeerClosed, CloseReason::kAnswered, CloseReason::kKilled));
}

TEST(TurnLoop, ClosesAConnectionThatDoesNotTakeItsLastReplies) {
  LoopOptions options;
  options.limits.linger_ms = 100;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  peer.Send(Echo(400'000) + "QUIT\r\n");
  ASSERT_TRUE(WaitUntil([&] { return !loop.events().close_reasons().empty(); }));
  EXPECT_THAT(loop.events().close_reasons(), ElementsAre(CloseReason::kLingered));
}

TEST(TurnLoop, ClosesAConnectionOverItsOutputLimit) {
  LoopOptions options;
  options.limits.output_bytes_max = 10'000;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  peer.Send(Echo(400'000));
  ASSERT_TRUE(WaitUntil([&] { return !loop.events().close_reasons().empty(); }));
  EXPECT_THAT(loop.events().close_reasons(), ElementsAre(CloseReason::kOutputLimit));
  loop.Stop();
  EXPECT_EQ(loop.counters_after_stop().closed_over_output_limit, 1U);
}

TEST(TurnLoop, StopClosesWaitersWithoutAReply) {
  LoopOnThread loop;
  TestPeer holder(loop.unix_path());
  holder.Send("LOCK key holder\r\n");
  EXPECT_EQ(holder.Receive(1), ":");
  TestPeer waiter(loop.unix_path());
  waiter.Send("LOCK key own WAIT FOREVER\r\nPING\r\n");
  ASSERT_TRUE(WaitUntil([&] { return IsWaited(loop); }));
  loop.Stop();
  EXPECT_EQ(waiter.Receive(1), "");
}

TEST(TurnLoop, StopGivesUpOnThoseWhoDoNotRead) {
  LoopOptions options;
  options.limits.stop_ms = 50;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  peer.Send(Echo(400'000));
  ASSERT_TRUE(WaitUntil([&] { return CountExecuted(loop) == 1; }));
  const std::int64_t begin = BoottimeMs();
  loop.Stop();
  EXPECT_GE(BoottimeMs() - begin, 49);
  EXPECT_THAT(loop.events().close_reasons(), ElementsAre(CloseReason::kServerStops));
}

TEST(TurnLoop, CanBeDestroyedWithoutHavingRun) {
  NullEnvironment environment;
  command::Dispatcher dispatcher({}, environment, 0);
  RecordedEvents events;
  TemporaryFolder folder;
  ListenOptions addresses;
  addresses.unix_path = folder.PathOf("socket");
  TurnLoop loop(dispatcher, events, {});
  loop.StartListening(Listen(addresses).sockets);
}

}  // namespace
}  // namespace fairlock::net
