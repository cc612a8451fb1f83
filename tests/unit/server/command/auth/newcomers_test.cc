// Connections that must log in but take a long time to do so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/access/slow_hash.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class NewcomersTest : public testing::Test {
 protected:
  NewcomersTest() { server_.SetUsers("user root on >root ~* +@all\n"); }

  void SetLimits(engine::DurationMs time_ms_max, std::size_t count_max) {
    newcomers().set_limits({.time_ms_max = time_ms_max, .count_max = count_max});
  }
  Newcomers& newcomers() { return server_.parts().newcomers; }
  std::uint64_t closed() { return server_.parts().statistics.counters.closed_without_log_in; }

  TestServer server_;
};

TEST_F(NewcomersTest, WhoDoesNotLogInInTimeIsToldSoAndClosed) {
  SetLimits(10'000, 0);
  TestClient& slow = server_.Connect();
  TestClient& quick = server_.Connect();
  EXPECT_EQ(newcomers().size(), 2U);
  EXPECT_EQ(quick.Say("AUTH root root"), "OK");
  EXPECT_EQ(newcomers().size(), 1U);
  server_.AdvanceBy(9'998);
  EXPECT_EQ(slow.Hear(), "");
  server_.AdvanceBy(2);
  EXPECT_EQ(slow.Hear(),
            "-NOAUTH no log-in within 10000 ms (unauthenticated_timeout); send AUTH within that "
            "time");
  EXPECT_TRUE(slow.is_closed());
  EXPECT_EQ(quick.Say("PING"), "PONG");
  EXPECT_EQ(closed(), 1U);
  EXPECT_THAT(server_.environment().closed_newcomers, ElementsAre("slow 127.0.0.1:50001"));
  EXPECT_EQ(newcomers().size(), 0U);
  EXPECT_EQ(server_.parts().NextDeadline(), engine::kNever);
}

TEST_F(NewcomersTest, RequestsGiveNoMoreTime) {
  SetLimits(1'000, 0);
  TestClient& client = server_.Connect();
  server_.AdvanceBy(900);
  EXPECT_THAT(client.Say("PING"), StartsWith("-NOAUTH"));
  EXPECT_THAT(client.Say("AUTH root wrong"), StartsWith("-WRONGPASS"));
  server_.AdvanceBy(100);
  EXPECT_THAT(client.Hear(), StartsWith("-NOAUTH no log-in within"));
}

TEST_F(NewcomersTest, WhoLogsOutHasTheTimeAgain) {
  SetLimits(1'000, 0);
  TestClient& client = server_.Connect();
  EXPECT_EQ(client.Say("AUTH root root"), "OK");
  server_.AdvanceBy(5'000);
  EXPECT_EQ(client.Say("RESET"), "RESET");
  server_.AdvanceBy(900);
  EXPECT_EQ(client.Hear(), "");
  server_.AdvanceBy(100);
  EXPECT_THAT(client.Hear(), StartsWith("-NOAUTH no log-in within"));
}

TEST_F(NewcomersTest, ZeroIsAsLongAsTheyLike) {
  SetLimits(0, 0);
  TestClient& client = server_.Connect();
  server_.AdvanceBy(3'600'000);
  EXPECT_EQ(client.Say("AUTH root root"), "OK");
}

TEST_F(NewcomersTest, OfTooManyTheOneThatHasWaitedLongestIsClosed) {
  SetLimits(0, 2);
  TestClient& first = server_.Connect();
  TestClient& second = server_.Connect();
  server_.AdvanceBy(0);
  EXPECT_FALSE(first.is_closed());
  TestClient& third = server_.Connect();
  server_.AdvanceBy(0);
  EXPECT_EQ(first.Hear(),
            "-FULL more than 2 connections have not logged in (max_unauthenticated_clients), and "
            "this one has waited longest; send AUTH right after connecting");
  EXPECT_TRUE(first.is_closed());
  EXPECT_EQ(second.Say("AUTH root root"), "OK");
  EXPECT_EQ(third.Say("AUTH root root"), "OK");
  EXPECT_THAT(server_.environment().closed_newcomers, ElementsAre("too many 127.0.0.1:50001"));
}

TEST_F(NewcomersTest, WhoHasLoggedInIsNotCounted) {
  SetLimits(0, 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(server_.Connect().Say("AUTH root root"), "OK");
    server_.AdvanceBy(0);
  }
  EXPECT_EQ(closed(), 0U);
  EXPECT_THAT(server_.Connect().Say("AUTH root root"), "OK");
}

TEST_F(NewcomersTest, WhosePasswordIsBeingComparedIsNotClosed) {
  server_.SetUsers("user root on " + access::MakeSlowHash("root") + " ~* +@all\n");
  SetLimits(1'000, 1);
  TestClient& compared = server_.Connect();
  EXPECT_EQ(compared.Say("AUTH root wrong"), "");
  TestClient& other = server_.Connect();
  EXPECT_EQ(other.Say("AUTH root wrong"), "");
  server_.AdvanceBy(5'000);
  EXPECT_FALSE(compared.is_closed());
  EXPECT_FALSE(other.is_closed());
  server_.CheckPasswords();
  EXPECT_THAT(compared.Hear(), StartsWith("-WRONGPASS"));
  server_.AdvanceBy(1'001);
  EXPECT_THAT(compared.Hear(), StartsWith("-NOAUTH no log-in within"));
  EXPECT_EQ(newcomers().size(), 0U);
}

TEST(Newcomers, WithoutPasswordsThereAreNone) {
  TestServer server;
  server.parts().newcomers.set_limits({.time_ms_max = 1, .count_max = 1});
  TestClient& client = server.Connect();
  server.Connect();
  server.AdvanceBy(1'000);
  EXPECT_EQ(client.Say("PING"), "PONG");
  EXPECT_THAT(client.Say("INFO clients"), HasSubstr("unauthenticated_clients:0\r\n"));
}

}  // namespace
}  // namespace fairlock::command
