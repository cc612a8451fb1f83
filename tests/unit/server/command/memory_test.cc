// Which requests are served, and which are refused, while more than max_memory is in use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kMax = 1000;

class MemoryTest : public testing::Test {
 protected:
  MemoryTest() { server_.parts().availability.BoundMemory(kMax, server_.now()); }

  // Sets the memory in use, as seen from the next request on.
  void Use(std::uint64_t bytes) { server_.environment().memory_in_use = bytes; }
  void Refuses(std::string_view request) {
    EXPECT_THAT(client_.Say(request), StartsWith("-OOM ")) << request;
  }

  TestServer server_;
  TestClient& client_ = server_.Connect();
};

TEST_F(MemoryTest, TheBoundItselfIsNotTooMuch) {
  Use(kMax);
  EXPECT_EQ(client_.Say("LOCK k a"), "1");
  Use(kMax + 1);
  EXPECT_EQ(client_.Say("LOCK other a"),
            "-OOM 1001 bytes of memory are in use, and max_memory is 1000: locks can be renewed "
            "and released, but new locks, waits and subscriptions are refused; try again later, or "
            "raise max_memory");
  Use(kMax);
  EXPECT_EQ(client_.Say("LOCK other a"), "2");
  EXPECT_THAT(server_.environment().memory_notes, ElementsAre("short 1001 1000", "room 1000 1000"));
}

TEST_F(MemoryTest, NothingNewIsTaken) {
  client_.Say("LOCK held a");
  client_.Say("LOCK pool a LIMIT 3");
  Use(kMax + 1);
  for (const char* request :
       {"LOCK k a", "LOCK held b WAIT 10s", "LOCK held b KEEP 10s", "LOCK pool b LIMIT 3",
        "MLOCK 2 k1 k2 a", "MLOCK 2 held k2 b WAIT 10s", "SET k v NX PX 1000", "SET k v",
        "SETNX k v", "SETEX k 10 v", "MSET k v", "MSETNX k v", "INCR k", "INCRBYFLOAT k 1",
        "BITFIELD k SET u8 0 1", "WAIT held TIMEOUT 10s", "TRANSFER held a b", "SUBSCRIBE c",
        "PSUBSCRIBE c*"}) {
    Refuses(request);
  }
  EXPECT_EQ(client_.Say("LOCKED k"), "0");
  EXPECT_EQ(client_.Say("LOCKED held"), "1");
  EXPECT_EQ(server_.parts().locks.engine().counts().places, 0U);
  server_.parts().locks.engine().CheckInvariants();
}

TEST_F(MemoryTest, WhatIsDeniedAnywayIsAnsweredSo) {
  client_.Say("LOCK held a");
  Use(kMax + 1);
  EXPECT_EQ(client_.Say("LOCK held b"), "nil");
  EXPECT_EQ(client_.Say("SET held b NX"), "nil");
  EXPECT_EQ(client_.Say("WAIT held TIMEOUT 0"), "0");
  EXPECT_EQ(client_.Say("WAIT free TIMEOUT 10s"), "1");
  EXPECT_THAT(client_.Say("LOCK k"), StartsWith("-ERR wrong number of arguments"));
}

TEST_F(MemoryTest, WhatIsThereGoesOn) {
  client_.Say("LOCK k a");
  client_.Say("SET old v PX 5000");
  client_.Say("MLOCK 2 m1 m2 a");
  TestClient& waiter = server_.Connect();
  EXPECT_EQ(waiter.Say("LOCK k b WAIT 10s"), "");
  TestClient& idle = server_.Connect();
  EXPECT_EQ(idle.Say("LOCK k c KEEP 10s"), "nil");
  Use(kMax + 1);
  // Holders still get their answer, and an owner with a place can use it.
  EXPECT_EQ(client_.Say("LOCK k a"), "1");
  EXPECT_EQ(client_.Say("MLOCK 2 m1 m2 a"), "3");
  EXPECT_EQ(idle.Say("LOCK k c WAIT 10s"), "");
  EXPECT_EQ(client_.Say("RENEW k a"), "1");
  EXPECT_EQ(client_.Say("MRENEW 2 m1 m2 a"), "1");
  EXPECT_EQ(client_.Say("SET old v PX 6000"), "OK");
  EXPECT_EQ(client_.Say("CHECK k 1"), "1");
  EXPECT_EQ(client_.Say("UNLOCK k a"), "1");
  EXPECT_EQ(waiter.Hear(), "4");
  EXPECT_EQ(client_.Say("CANCEL k c"), "1");
  EXPECT_THAT(idle.Hear(), StartsWith("-CANCELLED"));
  EXPECT_EQ(client_.Say("MUNLOCK 2 m1 m2 a"), "2");
  EXPECT_EQ(client_.Say("DEL old"), "1");
  EXPECT_EQ(client_.Say("PING"), "PONG");
  EXPECT_EQ(client_.Say("CONFIG SET default_lease 20s"), "OK");
  EXPECT_THAT(client_.Say("INFO memory"),
              HasSubstr("maxmemory:1000\r\nmaxmemory_policy:noeviction\r\n"
                        "maxmemory_human:1000B\r\nshort_of_memory:1\r\n"));
}

TEST_F(MemoryTest, ARepeatedRequestMayNotBringMore) {
  client_.Say("LOCK k a META 12345");
  client_.Say("LOCK plain a");
  Use(kMax + 1);
  EXPECT_EQ(client_.Say("LOCK k a META 12345"), "1");
  Refuses("LOCK k a META 54321");
  Refuses("LOCK plain a META 1");
  Refuses("LOCK plain a SESSION");
  EXPECT_EQ(client_.Say("LOCK plain a PX 99999"), "2");
}

TEST_F(MemoryTest, AWriteTakesNothingOver) {
  client_.Say("SET k 7 PX 5000");
  Use(kMax + 1);
  Refuses("SET k other PX 5000");
  Refuses("INCR k");
  EXPECT_EQ(client_.Say("GET k"), "\"7\"");
}

TEST_F(MemoryTest, ATransactionReleasesButCollectsLittle) {
  client_.Say("SET k v PX 5000");
  Use(kMax + 1);
  EXPECT_EQ(client_.Say("WATCH k"), "OK");
  EXPECT_EQ(client_.Say("MULTI"), "OK");
  EXPECT_EQ(client_.Say("DEL k"), "QUEUED");
  EXPECT_EQ(client_.Say("RENEW other a"), "QUEUED");
  EXPECT_EQ(client_.Say("EXEC"), "[1 0]");
  EXPECT_EQ(client_.Say("MULTI"), "OK");
  const std::string large(40'000, 'x');
  EXPECT_EQ(client_.Say({"ECHO", large}), "QUEUED");
  EXPECT_THAT(client_.Say({"ECHO", large}), StartsWith("-OOM "));
  EXPECT_THAT(client_.Say("EXEC"), StartsWith("-EXECABORT"));
}

// As in Redis, EXEC executes no command of the transaction if one of them was refused.
TEST_F(MemoryTest, WhatTakesALockIsRefusedWhenItIsQueued) {
  client_.Say("SET k v PX 5000");
  for (const char* request :
       {"LOCK new a", "SET new v", "SETNX k v", "MLOCK 1 new a", "INCR new"}) {
    Use(kMax + 1);
    EXPECT_EQ(client_.Say("MULTI"), "OK");
    EXPECT_EQ(client_.Say("DEL k"), "QUEUED");
    Refuses(request);
    Use(kMax);
    EXPECT_EQ(client_.Say("DEL k"), "QUEUED");
    EXPECT_EQ(client_.Say("EXEC"), "-EXECABORT Transaction discarded because of previous errors.");
    EXPECT_EQ(client_.Say("EXISTS k"), "1") << request;
  }
}

TEST_F(MemoryTest, NoneIsExecutedIfMemoryIsShortAtExec) {
  client_.Say("SET k v PX 5000");
  EXPECT_EQ(client_.Say("MULTI"), "OK");
  EXPECT_EQ(client_.Say("DEL k"), "QUEUED");
  EXPECT_EQ(client_.Say("LOCK new a"), "QUEUED");
  Use(kMax + 1);
  EXPECT_THAT(client_.Say("EXEC"),
              StartsWith("-EXECABORT Transaction discarded because of: OOM 1001 bytes of memory"));
  EXPECT_EQ(client_.Say("EXISTS k new"), "1");
  EXPECT_EQ(client_.Say("EXEC"), "-ERR EXEC without MULTI");
  client_.Say("MULTI");
  client_.Say("DEL k");
  EXPECT_EQ(client_.Say("EXEC"), "[1]");
}

TEST_F(MemoryTest, FewKeysAreWatched) {
  Use(kMax + 1);
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(client_.Say("WATCH k" + std::to_string(i)), "OK");
  }
  Refuses("WATCH k64");
}

TEST_F(MemoryTest, AScriptReleasesAndTakesNothing) {
  client_.Say("SET k v PX 5000");
  Use(kMax + 1);
  EXPECT_THAT(client_.Say({"EVAL", "return redis.call('LOCK', 'new', 'a')", "0"}),
              StartsWith("-OOM "));
  EXPECT_EQ(client_.Say({"EVAL", "return redis.call('DEL', KEYS[1])", "1", "k"}), "1");
}

TEST_F(MemoryTest, ItIsLookedAtWithinAScriptToo) {
  // Simulates a request that itself uses all the memory.
  server_.environment().memory_per_look = 600;
  EXPECT_THAT(client_.Say({"EVAL", "return redis.call('LOCK', 'k1', 'a')", "0"}),
              StartsWith("-OOM "));
}

TEST_F(MemoryTest, ATransactionThatHasBegunIsExecutedAsAWhole) {
  client_.Say("MULTI");
  client_.Say("LOCK k1 a");
  client_.Say("LOCK k2 a");
  server_.environment().memory_in_use = kMax - 700;
  server_.environment().memory_per_look = 300;
  EXPECT_EQ(client_.Say("EXEC"), "[1 2]");
}

TEST_F(MemoryTest, TheAllocatorIsAskedNowAndThen) {
  client_.Say("PING");
  const int asked = server_.environment().memory_asked;
  for (int i = 0; i < 50; ++i) client_.Say("PING");
  EXPECT_EQ(server_.environment().memory_asked, asked);
  server_.AdvanceBy(MemoryBound::kLookEveryMs);
  client_.Say("PING");
  EXPECT_EQ(server_.environment().memory_asked, asked + 1);
}

TEST_F(MemoryTest, WithoutABoundNobodyLooks) {
  server_.parts().availability.BoundMemory(0, server_.now());
  const int looks = server_.environment().memory_looks;
  Use(1'000'000);
  EXPECT_EQ(client_.Say("LOCK k a"), "1");
  EXPECT_EQ(server_.environment().memory_looks, looks);
}

TEST_F(MemoryTest, TheBoundMayBeChanged) {
  Use(5'000);
  Refuses("LOCK k a");
  server_.parts().availability.BoundMemory(6'000, server_.now());
  EXPECT_EQ(client_.Say("LOCK k a"), "1");
  server_.parts().availability.BoundMemory(0, server_.now());
  Use(1'000'000);
  EXPECT_EQ(client_.Say("LOCK k2 a"), "2");
}

}  // namespace
}  // namespace fairlock::command
