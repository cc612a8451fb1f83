#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/command/handlers/command_families.h"
#include "server/net/clock.h"
#include "tests/unit/server/net/net_test_support.h"

namespace fairlock::net {
namespace {

using testing::Each;
using testing::ElementsAre;

std::string Echo(std::size_t bytes) {
  const std::string size = std::to_string(bytes);
  return "*2\r\n$4\r\nECHO\r\n$" + size + "\r\n" + std::string(bytes, 'x') + "\r\n";
}

std::string EchoReply(std::size_t bytes) {
  return "$" + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
}

// Whether exactly one client waits for a lock.
bool IsWaited(LoopOnThread& loop) {
  std::uint64_t waiters = 0;
  loop.Do([&](TurnLoop&, command::ServerParts& parts) {
    waiters = parts.locks.engine().counts().places;
  });
  return waiters == 1;
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

TEST(TurnLoop, ExecutesAPipelineOf64AtOnce) {
  LoopOnThread loop;
  TestPeer peer(loop.unix_path());
  std::uint64_t turns = 0;
  const auto count = [&](TurnLoop&, command::ServerParts& parts) {
    turns = parts.statistics.counters.turns - turns;
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
    // Each byte is progress, but does not extend the deadline.
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

TEST(TurnLoop, RefusesAllOverdueRequestsAFewPerTurn) {
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

TEST(TurnLoop, RefusesClientsThatSendTheirRequestsByteByByte) {
  constexpr std::size_t kPeers = 1000;
  LoopOptions options;
  options.limits.request_deadline_ms = 8000;
  LoopOnThread loop(options);
  std::vector<std::unique_ptr<TestPeer>> peers;
  for (std::size_t i = 0; i < kPeers; ++i) {
    peers.push_back(std::make_unique<TestPeer>(loop.unix_path()));
    peers.back()->Send("*2\r\n$4\r\nECHO\r\n$100000\r\n");
  }
  TestPeer light(loop.unix_path());
  const auto begun_at = std::chrono::steady_clock::now();
  const auto are_all_closed = [&] {
    // The clients send faster than the server reads them, because the light client is served first.
    for (int i = 0; i < 10; ++i) {
      light.Send("PING\r\n");
      for (const auto& peer : peers) peer->TrySend("x");
    }
    return loop.events().close_reasons().size() == kPeers;
  };
  EXPECT_TRUE(WaitUntil(are_all_closed));
  // No client was given more than its deadline, let alone twice as long.
  EXPECT_LT(std::chrono::steady_clock::now() - begun_at, std::chrono::milliseconds(15'800));
  EXPECT_THAT(loop.events().close_reasons(), Each(CloseReason::kRequestDeadline));
}

TEST(TurnLoop, ARequestDeadlineBeginsAnewWithEachRequest) {
  LoopOptions options;
  options.limits.request_deadline_ms = 500;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  // There is always half a request pending, but never the same one for long.
  for (int i = 0; i < 8; ++i) {
    peer.Send(i == 0 ? "PI" : "NG\r\nPI");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  peer.Send("NG\r\n");
  EXPECT_EQ(peer.Receive(56), Repeated("+PONG\r\n", 8));
  EXPECT_TRUE(loop.events().close_reasons().empty());
}

TEST(TurnLoop, AWaitingRequestHasNoRequestDeadline) {
  LoopOptions options;
  options.limits.request_deadline_ms = 20;
  LoopOnThread loop(options);
  TestPeer holder(loop.unix_path());
  holder.Send("LOCK key holder\r\n");
  EXPECT_EQ(ReceiveNumber(holder), 1);
  TestPeer idle(loop.unix_path());
  TestPeer waiter(loop.unix_path());
  // Input after a waiting request is not parsed.
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
  // The time limit of this LOCK is reached while nothing is sent or received.
  peer.Send("LOCK key own WAIT 100\r\nPING\r\n");
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
  // All bytes arrive before the next turn starts.
  loop.Do([&](TurnLoop&, command::ServerParts&) {
    for (const auto& peer : peers) peer->Send(Echo(bytes));
  });
  for (const auto& peer : peers) {
    EXPECT_EQ(peer->Receive(EchoReply(bytes).size()), EchoReply(bytes));
  }
}

TEST(TurnLoop, ClosesAClientThatSendsTooMuchAfterAWaitingRequest) {
  LoopOptions options;
  options.limits.waiting_input_bytes_max = 1000;
  LoopOnThread loop(options);
  TestPeer holder(loop.unix_path());
  holder.Send("LOCK key holder\r\n");
  EXPECT_EQ(holder.Receive(1), ":");
  TestPeer waiter(loop.unix_path());
  waiter.Send("LOCK key own WAIT FOREVER\r\n");
  ASSERT_TRUE(WaitUntil([&] { return IsWaited(loop); }));
  waiter.Send(Repeated("PING\r\n", 100));
  ASSERT_TRUE(WaitUntil([&] { return waiter.unreceived_bytes() == 0; }));
  EXPECT_TRUE(IsWaited(loop));

  waiter.Send(Repeated("PING\r\n", 100));
  EXPECT_TRUE(WaitUntil([&] { return !IsWaited(loop); }));
  EXPECT_THAT(loop.events().close_reasons(), ElementsAre(CloseReason::kInputLimit));
}

TEST(TurnLoop, TheInputThatCannotBeExecutedYetIsBounded) {
  LoopOptions options;
  options.limits.all_input_bytes_max = 200'000;
  LoopOnThread loop(options);
  const std::string part = "*2\r\n$4\r\nECHO\r\n$100000\r\n" + std::string(60'000, 'x');
  std::vector<std::unique_ptr<TestPeer>> peers;
  for (int i = 0; i < 6; ++i) {
    peers.push_back(std::make_unique<TestPeer>(loop.unix_path()));
    peers.back()->Send(part);
  }
  ASSERT_TRUE(WaitUntil([&] { return !loop.events().close_reasons().empty(); }));
  EXPECT_EQ(loop.events().close_reasons().front(), CloseReason::kAllInputLimit);
  std::uint64_t left = 0;
  loop.Do([&](TurnLoop&, command::ServerParts& parts) {
    left = parts.statistics.gauges.unexecuted_input_bytes;
  });
  EXPECT_LE(left, 200'000U);
}

// The close and the request arrive in one turn, and the close is handled first.
TEST(TurnLoop, ASessionThatClosedEndsBeforeALaterRequest) {
  LoopOnThread loop;
  auto session = std::make_unique<TestPeer>(loop.unix_path());
  session->Send("LOCK key session SESSION\r\n");
  EXPECT_EQ(session->Receive(1), ":");
  TestPeer other(loop.unix_path());
  other.Send("PING\r\n");
  EXPECT_EQ(other.Receive(7), "+PONG\r\n");
  loop.Do([&](TurnLoop&, command::ServerParts&) {
    other.Send("LOCK key other\r\n");
    session->Close();
  });
  EXPECT_EQ(other.Receive(1), ":");
}

TEST(TurnLoop, NeitherReadsNorExecutesWhileRepliesPileUp) {
  LoopOptions options;
  options.limits.output_pause_bytes = 10'000;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  constexpr std::size_t kRequests = 3000;
  std::thread sender([&] { peer.Send(Repeated(Echo(1000), kRequests)); });
  ASSERT_TRUE(WaitUntil([&] { return CountExecuted(loop) > 10; }));
  // The server executes as many requests as fit, with their replies, into the socket buffers, and a
  // few more.
  std::uint64_t executed = 0;
  for (int unchanged = 0; unchanged < 100; ++unchanged) {
    if (CountExecuted(loop) != executed) unchanged = 0;
    executed = CountExecuted(loop);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
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
  options.limits.output_pause_bytes =
      1'000'000;  // so that QUIT is executed while its reply is unsent
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

TEST(TurnLoop, ClosesTheLargestWhenAllUnreadRepliesTogetherExceedTheirBound) {
  LoopOptions options;
  // The limit applies to the memory used, which is twice the size of the replies.
  options.limits.all_output_bytes_max = 2'800'000;
  LoopOnThread loop(options);
  std::vector<std::unique_ptr<TestPeer>> peers;
  // Part of the output is in the socket buffers, which do not count. Without the last reply, the
  // total is below the limit.
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
  loop.Do([](TurnLoop&, command::ServerParts& parts) {
    EXPECT_EQ(parts.statistics.gauges.unread_reply_bytes, 0U);
    EXPECT_EQ(parts.statistics.counters.closed_over_output_limit, 1U);
  });
}

TEST(TurnLoop, AResetOfTheCountersKeepsTheUnreadReplies) {
  LoopOnThread loop;
  TestPeer slow(loop.unix_path());
  slow.Send(Echo(400'000));
  ASSERT_TRUE(WaitUntil([&] { return CountExecuted(loop) == 1; }));
  TestPeer other(loop.unix_path());
  other.Send("CONFIG RESETSTAT\r\n");
  EXPECT_EQ(other.Receive(5), "+OK\r\n");
  const std::string reply = EchoReply(400'000);
  EXPECT_EQ(slow.Receive(reply.size()), reply);
  loop.Do([](TurnLoop&, command::ServerParts& parts) {
    EXPECT_EQ(parts.statistics.gauges.unread_reply_bytes, 0U);
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

// Without the stop, the second waiter would be granted the lock when the first one's connection
// ends.
TEST(TurnLoop, StopGrantsNothingToAWaiterWhileAnotherOneEnds) {
  LoopOnThread loop;
  TestPeer holder(loop.unix_path());
  holder.Send("LOCK key holder SHARED\r\n");
  EXPECT_EQ(holder.Receive(1), ":");
  TestPeer writer(loop.unix_path());
  writer.Send("LOCK key writer WAIT FOREVER\r\n");
  ASSERT_TRUE(WaitUntil([&] { return IsWaited(loop); }));
  TestPeer reader(loop.unix_path());
  reader.Send("LOCK key reader SHARED WAIT FOREVER\r\n");
  ASSERT_TRUE(WaitUntil([&] {
    std::uint64_t waiting = 0;
    loop.Do([&](TurnLoop&, command::ServerParts& parts) {
      waiting = parts.statistics.gauges.waiting_clients;
    });
    return waiting == 2;
  }));
  loop.Stop();
  EXPECT_EQ(writer.Receive(1), "");
  EXPECT_EQ(reader.Receive(1), "");
}

TEST(TurnLoop, NothingMoreIsExecutedOnceItStops) {
  LoopOptions options;
  options.limits.requests_max = 1;
  options.limits.output_pause_bytes = 10'000'000;
  options.limits.stop_ms = 300;
  LoopOnThread loop(options);
  TestPeer peer(loop.unix_path());
  // The replies do not fit into the socket buffer, so the connection stays open for a while.
  for (int i = 0; i < 10; ++i) peer.Send(Echo(100'000));
  ASSERT_TRUE(WaitUntil([&] { return CountExecuted(loop) == 10; }));
  std::uint64_t executed = 0;
  loop.Do([&](TurnLoop& the_loop, command::ServerParts& parts) {
    peer.Send(Repeated("PING\r\n", 1000));
    executed = parts.statistics.counters.commands_processed;
    the_loop.RequestStop();
  });
  loop.Stop();
  EXPECT_LE(loop.counters_after_stop().commands_processed, executed + 1);
}

TEST(TurnLoop, StopClosesClientsThatDoNotRead) {
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
  command::ServerParts parts(command::WholeLanguage(), {}, environment.Given(), 0);
  RecordedEvents events;
  TemporaryFolder folder;
  ListenOptions addresses;
  addresses.unix_path = folder.PathOf("socket");
  TurnLoop loop(parts, events, {});
  loop.StartListening(Listen(addresses).sockets);
}

}  // namespace
}  // namespace fairlock::net
