// MULTI, EXEC, DISCARD, WATCH and UNWATCH.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class TransactionsTest : public testing::Test {
 protected:
  // Returns the reply to EXEC when `other` has sent the line between WATCH and MULTI.
  std::string ExecAfter(std::string_view line) {
    own_.Say("WATCH k");
    other_.Say(line);
    return Exec();
  }

  std::string Exec() {
    own_.Say("MULTI");
    own_.Say("PING");
    return own_.Say("EXEC");
  }

  TestServer server_;
  TestClient& own_ = server_.Connect();
  TestClient& other_ = server_.Connect();
};

constexpr std::string_view kDone = "[PONG]";

TEST_F(TransactionsTest, CollectsAndExecutes) {
  EXPECT_EQ(own_.Say("MULTI"), "OK");
  EXPECT_EQ(own_.Say("LOCK a me"), "QUEUED");
  EXPECT_EQ(own_.Say("LOCKED a"), "QUEUED");
  EXPECT_EQ(own_.Say("UNLOCK a you"), "QUEUED");
  EXPECT_EQ(other_.Say("LOCKED a"), "0");
  EXPECT_EQ(own_.Say("EXEC"), "[1 1 0]");
  EXPECT_EQ(other_.Say("LOCKED a me"), "1");
  EXPECT_EQ(own_.Say("EXEC"), "-ERR EXEC without MULTI");
}

TEST_F(TransactionsTest, KeepsBytesAsTheyAre) {
  own_.Say("MULTI");
  own_.Say({"ECHO", std::string_view("\0\r\n", 3)});
  own_.Say({"ECHO", ""});
  EXPECT_EQ(own_.SendBytes("EXEC\r\n"), std::string("*2\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n", 19));
}

TEST_F(TransactionsTest, AnErrorOfOneLeavesTheOthers) {
  own_.Say("MULTI");
  own_.Say({"LOCK", "k", ""});
  own_.Say("LOCK k me");
  EXPECT_THAT(own_.Say("EXEC"), testing::MatchesRegex("\\[-ERR owner must .* 1\\]"));
}

TEST_F(TransactionsTest, ARefusedRequestSpoilsAll) {
  own_.Say("MULTI");
  own_.Say("LOCK k me");
  EXPECT_THAT(own_.Say("LOCK k"), StartsWith("-ERR wrong number"));
  EXPECT_EQ(own_.Say("PING"), "QUEUED");
  EXPECT_EQ(own_.Say("EXEC"), "-EXECABORT Transaction discarded because of previous errors.");
  EXPECT_EQ(own_.Say("LOCKED k"), "0");
  EXPECT_EQ(Exec(), kDone);
}

TEST_F(TransactionsTest, DiscardForgets) {
  own_.Say("WATCH k");
  other_.Say("LOCK k you");
  own_.Say("MULTI");
  own_.Say("LOCK a me");
  EXPECT_EQ(own_.Say("DISCARD"), "OK");
  EXPECT_EQ(own_.Say("DISCARD"), "-ERR DISCARD without MULTI");
  EXPECT_EQ(own_.Say("LOCKED a"), "0");
  EXPECT_EQ(Exec(), kDone);
}

TEST_F(TransactionsTest, ResetAndQuitEndIt) {
  own_.Say("MULTI");
  EXPECT_EQ(own_.Say("RESET"), "RESET");
  EXPECT_EQ(own_.Say("EXEC"), "-ERR EXEC without MULTI");
  own_.Say("MULTI");
  own_.Say("LOCK k me");
  EXPECT_EQ(own_.Say("QUIT"), "OK");
  EXPECT_EQ(other_.Say("LOCKED k"), "0");
}

TEST_F(TransactionsTest, AClosedConnectionExecutesNothing) {
  own_.Say("WATCH a");
  own_.Say("MULTI");
  own_.Say("LOCK k me");
  own_.Close();
  EXPECT_EQ(other_.Say("LOCKED k"), "0");
}

TEST_F(TransactionsTest, NothingWaitsInside) {
  other_.Say("LOCK k you");
  own_.Say("MULTI");
  own_.Say("LOCK k me WAIT 10s");
  own_.Say("LOCK k me WAIT FOREVER EXPLAIN");
  own_.Say("MLOCK 2 k j me WAIT 10s");
  own_.Say("WAIT k TIMEOUT FOREVER");
  own_.Say("POSITION k me");
  const std::string replies = own_.Say("EXEC");
  EXPECT_THAT(replies, StartsWith("[nil [\"status\" \"denied\""));
  EXPECT_THAT(replies, testing::EndsWith(" nil 0 nil]"));
  EXPECT_EQ(own_.Say("PING"), "PONG");
}

TEST_F(TransactionsTest, OthersAreAnsweredBehindIt) {
  own_.Say("LOCK k me");
  EXPECT_EQ(other_.Say("LOCK k you WAIT 10s"), "");
  own_.Say("MULTI");
  own_.Say("UNLOCK k me");
  own_.Say("LOCKED k");
  own_.Say("LOCK k me");
  EXPECT_EQ(own_.Say("EXEC"), "[1 0 nil]");
  EXPECT_EQ(other_.Hear(), "2");
}

TEST_F(TransactionsTest, MessagesComeBehindItInTheirOrder) {
  own_.Say("HELLO 3");
  own_.Say("SUBSCRIBE __keyspace@0__:k c");
  own_.Say("MULTI");
  own_.Say("LOCK k me");
  own_.Say("PUBLISH c x");
  own_.Say("UNLOCK k me");
  EXPECT_EQ(own_.Say("EXEC"),
            "[1 1 1]\n"
            ">[\"message\" \"__keyspace@0__:k\" \"set\"]\n"
            ">[\"message\" \"c\" \"x\"]\n"
            ">[\"message\" \"__keyspace@0__:k\" \"del\"]");
}

TEST_F(TransactionsTest, WhatItGrantedIsNotUndone) {
  own_.Send("MULTI");
  own_.Send("LOCK k me");
  own_.Send("EXEC");
  own_.Close();
  EXPECT_EQ(other_.Say("LOCKED k me"), "1");
}

TEST_F(TransactionsTest, AVersionChosenInsideHoldsForTheRepliesBehindIt) {
  other_.Say("LOCK k you");
  own_.Say("MULTI");
  own_.Say("LOCK k me");
  own_.Say("HELLO 3");
  own_.Say("LOCK k me");
  const std::string bytes = own_.SendBytes("EXEC\r\n");
  EXPECT_THAT(bytes, StartsWith("*3\r\n$-1\r\n%7\r\n"));
  EXPECT_THAT(bytes, testing::EndsWith("*0\r\n_\r\n"));
}

TEST_F(TransactionsTest, WatchTripsOnAChangeOfHolders) {
  EXPECT_EQ(ExecAfter("LOCK k you"), "nil");
  EXPECT_EQ(ExecAfter("TRANSFER k you they"), "nil");
  EXPECT_EQ(ExecAfter("UNLOCK k they"), "nil");
  EXPECT_EQ(ExecAfter("MLOCK 2 k j you"), "nil");
  EXPECT_EQ(ExecAfter("BREAK k"), "nil");
}

TEST_F(TransactionsTest, WatchTripsThoughAllIsAsItWas) {
  own_.Say("WATCH k");
  other_.Say("LOCK k you");
  other_.Say("UNLOCK k you");
  EXPECT_EQ(Exec(), "nil");
}

TEST_F(TransactionsTest, WatchTripsOnOnesOwnChange) {
  own_.Say("WATCH k");
  own_.Say("LOCK k me");
  EXPECT_EQ(Exec(), "nil");
}

TEST_F(TransactionsTest, WatchTripsOnTheEndOfALease) {
  other_.Say("LOCK k you PX 5000");
  own_.Say("WATCH k");
  server_.AdvanceBy(4000);
  EXPECT_EQ(ExecAfter("RENEW k you PX 1000"), kDone);
  EXPECT_EQ(ExecAfter("RENEW k you PX 2000"), "nil");
  EXPECT_EQ(ExecAfter("LOCK k you PX 1000"), kDone);
  EXPECT_EQ(ExecAfter("LOCK k you PX 3000"), "nil");
  own_.Say("WATCH k");
  server_.SkipTo(server_.now() + 10'000);
  EXPECT_EQ(Exec(), "nil");
}

TEST_F(TransactionsTest, WatchDoesNotTripOnTheLine) {
  own_.Say("LOCK k me");
  own_.Say("WATCH k");
  other_.Say("LOCK k you KEEP 1000");
  EXPECT_EQ(Exec(), kDone);
  EXPECT_EQ(ExecAfter("CANCEL k you"), kDone);
  EXPECT_EQ(ExecAfter("LOCK k you"), kDone);
  EXPECT_EQ(ExecAfter("LOCK j you"), kDone);
  EXPECT_EQ(ExecAfter("SELECT 1"), kDone);
  EXPECT_EQ(ExecAfter("LOCK k you"), kDone);
}

TEST_F(TransactionsTest, WatchEndsWithExecAndUnwatch) {
  own_.Say("WATCH k j");
  own_.Say("WATCH k");
  EXPECT_EQ(own_.Say("UNWATCH"), "OK");
  other_.Say("LOCK k you");
  EXPECT_EQ(Exec(), kDone);
  EXPECT_EQ(ExecAfter("LOCK j you"), kDone);
  other_.Say("UNLOCK k you");
  EXPECT_EQ(Exec(), kDone);
}

TEST_F(TransactionsTest, UnwatchInsideChangesNothing) {
  own_.Say("WATCH k");
  own_.Say("MULTI");
  EXPECT_EQ(own_.Say("WATCH j"), "-ERR WATCH inside MULTI is not allowed");
  EXPECT_EQ(own_.Say("MULTI"), "-ERR MULTI calls can not be nested");
  EXPECT_EQ(own_.Say("UNWATCH"), "QUEUED");
  EXPECT_EQ(own_.Say("PING"), "QUEUED");
  EXPECT_EQ(own_.Say("EXEC"), "[OK PONG]");
}

TEST_F(TransactionsTest, IsBounded) {
  server_.parts().transactions.set_limits(
      {.requests_max = 2, .bytes_max = 100, .watched_keys_max = 2});
  own_.Say("MULTI");
  own_.Say("PING");
  own_.Say("PING");
  EXPECT_EQ(own_.Say("PING"),
            "-FULL more requests after MULTI than 2 (max_transaction_requests); EXEC first");
  EXPECT_THAT(own_.Say("EXEC"), StartsWith("-EXECABORT "));
  own_.Say("MULTI");
  EXPECT_THAT(own_.Say("ECHO " + std::string(100, 'x')), HasSubstr("max_transaction_size"));
  EXPECT_THAT(own_.Say("EXEC"), StartsWith("-EXECABORT "));
  EXPECT_EQ(own_.Say("WATCH a b"), "OK");
  EXPECT_EQ(own_.Say("WATCH a b"), "OK");
  EXPECT_EQ(own_.Say("WATCH c"),
            "-FULL this connection watches 2 keys; the limit is 2 (max_watched_keys)");
}

TEST_F(TransactionsTest, IsShownInTheListOfClients) {
  own_.Say("MULTI");
  own_.Say("PING");
  const std::string list = other_.Say("CLIENT LIST");
  EXPECT_THAT(list, HasSubstr(" flags=x "));
  EXPECT_THAT(list, HasSubstr(" multi=1 "));
  EXPECT_THAT(own_.Say("CLIENT LIST"), "QUEUED");
}

TEST_F(TransactionsTest, SomeAreNotAllowedInside) {
  own_.Say("MULTI");
  own_.Say("MONITOR");
  EXPECT_EQ(own_.Say("EXEC"), "[-ERR MONITOR isn't allowed for DENY BLOCKING client]");
  own_.Say("MULTI");
  EXPECT_EQ(own_.Say("SHUTDOWN"), "-ERR Command not allowed inside a transaction");
  EXPECT_THAT(own_.Say("EXEC"), StartsWith("-EXECABORT "));
}

}  // namespace
}  // namespace fairlock::command
