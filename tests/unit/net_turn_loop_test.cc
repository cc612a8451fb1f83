#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
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

std::string LocksAndUnlocks(int number, std::size_t pairs) {
  const std::string names = " key-" + std::to_string(number) + " owner\r\n";
  return Repeated("LOCK" + names + "UNLOCK" + names, pairs);
}

// The number in a reply that is one.
std::int64_t ReceiveNumber(TestPeer& peer) {
  std::string line;
  while (!line.ends_with('\n')) line += peer.Receive(1);
  return std::stoll(line.substr(1));
}

// Of the grants so far.
std::uint64_t CountGrants(
    LoopOnThread& loop, const std::function<void()>& meanwhile = [] {}) {
  std::uint64_t granted = 0;
  loop.Do([&](TurnLoop&, command::Dispatcher& dispatcher) {
    granted = dispatcher.engine().counts().granted;
    meanwhile();
  });
  return granted;
}

TEST(TurnLoop, WhoAsksForLittleComesBeforeThoseWhoFlood) {
  constexpr std::size_t kFlooders = 10;
  constexpr std::size_t kPairs = 3000;  // what a socket takes at once
  LoopOnThread loop;
  TestPeer little(loop.unix_path());
  little.Send("LOCK first own\r\n");
  const std::int64_t first = ReceiveNumber(little);
  std::vector<std::unique_ptr<TestPeer>> flooders;
  for (std::size_t i = 0; i < kFlooders; ++i) {
    flooders.push_back(std::make_unique<TestPeer>(loop.unix_path()));
  }
  ASSERT_TRUE(WaitUntil([&] { return loop.events().opened() == kFlooders + 1; }));
  CountGrants(loop, [&] {
    for (std::size_t i = 0; i < kFlooders; ++i) {
      flooders[i]->Send(LocksAndUnlocks(static_cast<int>(i), kPairs));
    }
  });
  const std::uint64_t before = CountGrants(loop, [&] { little.Send("LOCK second own\r\n"); });
  const std::int64_t second = ReceiveNumber(little);
  // Tokens count the grants.
  EXPECT_LT(second - first - static_cast<std::int64_t>(before), 2000);
  EXPECT_TRUE(WaitUntil([&] { return CountGrants(loop) == kFlooders * kPairs + 2; }));
}

TEST(TurnLoop, WhoAsksForLittleComesBeforeManyWhoBeginToFloodAtOnce) {
  constexpr std::size_t kFlooders = 300;
  constexpr std::size_t kPairs = 200;  // about what is received at once
  LoopOnThread loop;
  TestPeer little(loop.unix_path());
  little.Send("LOCK first own\r\n");
  const std::int64_t first = ReceiveNumber(little);
  std::vector<std::unique_ptr<TestPeer>> flooders;
  for (std::size_t i = 0; i < kFlooders; ++i) {
    flooders.push_back(std::make_unique<TestPeer>(loop.unix_path()));
  }
  ASSERT_TRUE(WaitUntil([&] { return loop.events().opened() == kFlooders + 1; }));
  CountGrants(loop, [&] {
    for (std::size_t i = 0; i < kFlooders; ++i) {
      flooders[i]->Send(LocksAndUnlocks(static_cast<int>(i), kPairs));
    }
    little.Send("LOCK second own\r\n");
  });
  // Not one visit to each of the others.
  EXPECT_LT(ReceiveNumber(little) - first, 5000);
  EXPECT_TRUE(WaitUntil([&] { return CountGrants(loop) == kFlooders * kPairs + 2; }));
}

TEST(TurnLoop, LongRepliesAreSplitIntoTurns) {
  LoopOnThread loop;
  TestPeer peer(loop.unix_path());
  for (int i = 0; i < 250; ++i) {
    peer.Send("LOCK " + std::string(100, 'k') + std::to_string(i) + " owner\r\n");
    ASSERT_GT(ReceiveNumber(peer), 0);
  }
  constexpr std::size_t kPages = 20;  // of 25 KB and more
  std::uint64_t turns = 0;
  const auto count = [&](TurnLoop&, command::Dispatcher& dispatcher) {
    turns = dispatcher.counters().turns - turns;
  };
  loop.Do(count);
  peer.Send(Repeated("LOCKS 0 COUNT 250\r\n", kPages) + "ECHO end\r\n");
  std::string received;
  while (!received.ends_with("$3\r\nend\r\n")) received += peer.Receive(1);
  ASSERT_GT(received.size(), kPages * 25'000);
  loop.Do(count);
  EXPECT_GE(turns, kPages);
}

TEST(TurnLoop, ExecutesAPipelineOf64AtOnce) {
  LoopOnThread loop;
  TestPeer peer(loop.unix_path());
  std::uint64_t turns = 0;
  const auto count = [&](TurnLoop&, command::Dispatcher& dispatcher) {
    turns = dispatcher.counters().turns - turns;
  };
  constexpr std::size_t kRounds = 100;
  loop.Do(count);
  for (std::size_t i = 0; i < kRounds; ++i) {
    peer.Send(LocksAndUnlocks(1, 32));
    for (int reply = 0; reply < 64; ++reply) ASSERT_GT(ReceiveNumber(peer), 0);
  }
  loop.Do(count);
  EXPECT_LT(turns, 2 * kRounds);
}

TEST(TurnLoop, RefusesARequestThatIsNotCompletedInTime) {
  LoopOptions options;
  options.limits.request_deadline_ms = 200;
  LoopOnThread loop(options);
  TestPeer slow(loop.unix_path());
  const std::int64_t begin = BoottimeMs();
  slow.Send("PING\r\n*2\r\n$4\r\nECHO\r\n$100\r\n");
  EXPECT_EQ(slow.Receive(7), "+PONG\r\n");
  std::atomic<bool> is_over = false;
  std::thread trickle([&] {
    // Each byte is progress, and none of them helps.
    while (!is_over) {
      if (!slow.TrySend("x")) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_EQ(slow.Receive(1000), "-ERR request not completed within 200 ms (request_deadline)\r\n");
  is_over = true;
  trickle.join();
  EXPECT_GE(BoottimeMs() - begin, 199);
  ASSERT_TRUE(WaitUntil([&] { return !loop.events().close_reasons().empty(); }));
  EXPECT_THAT(loop.events().close_reasons(), ElementsAre(CloseReason::kRequestDeadline));
  loop.Stop();
  EXPECT_EQ(loop.counters_after_stop().closed_over_request_deadline, 1U);
}

TEST(TurnLoop, RefusesAllThatAreLateAFewATurn) {
  LoopOptions options;
  options.limits.request_deadline_ms = 100;
  options.limits.closes_max = 2;
  LoopOnThread loop(options);
  std::vector<std::unique_ptr<TestPeer>> peers;
  for (int i = 0; i < 20; ++i) {
    peers.push_back(std::make_unique<TestPeer>(loop.unix_path()));
    peers.back()->Send("PI");
  }
  ASSERT_TRUE(WaitUntil([&] { return loop.events().close_reasons().size() == 20; }));
  loop.Stop();
  EXPECT_EQ(loop.counters_after_stop().closed_over_request_deadline, 20U);
}

TEST(TurnLoop, ARequestDeadlineBeginsAnewWithEachRequest) {
  LoopOptions options;
  options.limits.request_deadline_ms = 500;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  // There is always half a request, and never the same for long.
  for (int i = 0; i < 8; ++i) {
    peer.Send(i == 0 ? "PI" : "NG\r\nPI");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  peer.Send("NG\r\n");
  EXPECT_EQ(peer.Receive(56), Repeated("+PONG\r\n", 8));
  EXPECT_TRUE(loop.events().close_reasons().empty());
}

TEST(TurnLoop, WhatWaitsHasNoRequestDeadline) {
  LoopOptions options;
  options.limits.request_deadline_ms = 20;
  LoopOnThread loop(options);
  TestPeer holder(loop.unix_path());
  holder.Send("LOCK key holder\r\n");
  EXPECT_EQ(ReceiveNumber(holder), 1);
  TestPeer idle(loop.unix_path());
  TestPeer waiter(loop.unix_path());
  // What stands behind a request that waits is not looked at.
  waiter.Send("LOCK key own WAIT 200\r\nPI");
  EXPECT_EQ(waiter.Receive(5), "$-1\r\n");
  waiter.Send("NG\r\n");
  EXPECT_EQ(waiter.Receive(7), "+PONG\r\n");
  idle.Send("PING\r\n");
  EXPECT_EQ(idle.Receive(7), "+PONG\r\n");
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
  options.limits.output_pause_bytes = 1'000'000;  // so that QUIT is executed behind its reply
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

TEST(TurnLoop, ClosesThoseWithTheMostUnreadRepliesWhenAllTogetherHaveTooMany) {
  LoopOptions options;
  // What is counted is memory, twice as much as the replies.
  options.limits.all_output_bytes_max = 2'800'000;
  LoopOnThread loop(options);
  std::vector<std::unique_ptr<TestPeer>> peers;
  // The sockets take a part of it; the others are below the limit as long as the last is not there.
  const std::vector<std::size_t> sizes = {300'000, 500'000, 400'000, 350'000};
  for (const std::size_t bytes : sizes) {
    peers.push_back(std::make_unique<TestPeer>(loop.unix_path()));
    peers.back()->Send(Echo(bytes));
    ASSERT_TRUE(WaitUntil([&] { return CountExecuted(loop) == peers.size(); }));
  }
  ASSERT_TRUE(WaitUntil([&] { return !loop.events().close_reasons().empty(); }));
  EXPECT_THAT(loop.events().close_reasons(), ElementsAre(CloseReason::kAllOutputLimit));
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const std::string reply = EchoReply(sizes[i]);
    if (i == 1) {
      EXPECT_LT(peers[i]->Receive(reply.size()).size(), reply.size());
    } else {
      EXPECT_EQ(peers[i]->Receive(reply.size()), reply);
    }
  }
  loop.Do([](TurnLoop&, command::Dispatcher& dispatcher) {
    EXPECT_EQ(dispatcher.gauges().unread_reply_bytes, 0U);
    EXPECT_EQ(dispatcher.counters().closed_over_output_limit, 1U);
  });
}

TEST(TurnLoop, AResetOfTheCountersLeavesWhatIsNotYetRead) {
  LoopOnThread loop;
  TestPeer slow(loop.unix_path());
  slow.Send(Echo(400'000));
  ASSERT_TRUE(WaitUntil([&] { return CountExecuted(loop) == 1; }));
  TestPeer other(loop.unix_path());
  other.Send("CONFIG RESETSTAT\r\n");
  EXPECT_EQ(other.Receive(5), "+OK\r\n");
  const std::string reply = EchoReply(400'000);
  EXPECT_EQ(slow.Receive(reply.size()), reply);
  loop.Do([](TurnLoop&, command::Dispatcher& dispatcher) {
    EXPECT_EQ(dispatcher.gauges().unread_reply_bytes, 0U);
  });
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
