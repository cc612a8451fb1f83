#include "server/command/pubsub/monitors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;

class MonitorsTest : public testing::Test {
 protected:
  MonitorsTest() { EXPECT_EQ(monitor_.Say("MONITOR"), "OK"); }

  TestServer server_;
  TestClient& monitor_ = server_.Connect();
  TestClient& other_ = server_.Connect("10.0.0.7:4711");
};

TEST_F(MonitorsTest, ShowsEachRequestWithItsTimeDatabaseAndAddress) {
  other_.Say("SELECT 3");
  other_.Say("LOCK \"a\\x01\\\"\" me PX 5000");
  EXPECT_EQ(
      monitor_.HearBytes(),
      "+1700000000.123456 [3 10.0.0.7:4711] \"SELECT\" \"3\"\r\n"
      "+1700000000.123456 [3 10.0.0.7:4711] \"LOCK\" \"a\\x01\\\"\" \"me\" \"PX\" \"5000\"\r\n");
}

TEST_F(MonitorsTest, TimesHaveSixDigitsBehindThePoint) {
  server_.environment().unix_time_us = 1'700'000'000'000'007;
  other_.Say("PING");
  EXPECT_EQ(monitor_.HearBytes(), "+1700000000.000007 [0 10.0.0.7:4711] \"PING\"\r\n");
}

TEST_F(MonitorsTest, NamesTheSocketOfALocalClient) {
  server_.Connect("/run/fairlock:1/socket:0").Say("PING");
  EXPECT_EQ(monitor_.HearBytes(),
            "+1700000000.123456 [0 unix:/run/fairlock:1/socket] \"PING\"\r\n");
}

TEST_F(MonitorsTest, HidesWhatProvesWhoSomebodyIs) {
  other_.Say("AUTH default secret");
  other_.Say("AUTH secret");
  other_.Say("hello 3 setname shop auth default secret");
  other_.Say("HELLO 3 AUTH secret");
  const std::string seen = monitor_.HearBytes();
  EXPECT_THAT(seen, HasSubstr("\"AUTH\" \"(redacted)\" \"(redacted)\"\r\n"));
  EXPECT_THAT(seen, HasSubstr("\"AUTH\" \"(redacted)\"\r\n"));
  EXPECT_THAT(seen, HasSubstr("\"hello\" \"3\" \"setname\" \"shop\" \"auth\" \"(redacted)\" "
                              "\"(redacted)\"\r\n"));
  EXPECT_THAT(seen, testing::Not(HasSubstr("secret")));
}

TEST_F(MonitorsTest, LeavesOutWhatSteersTheServerAndShowsWhatSteersLocks) {
  other_.Say("CONFIG GET *");
  other_.Say("CLIENT LIST");
  other_.Say("SHUTDOWN ABORT");
  other_.Say("NOSUCH command");
  other_.Say("LOCK");
  EXPECT_EQ(monitor_.Hear(), "");
  other_.Say("BREAK k");
  EXPECT_THAT(monitor_.Hear(), HasSubstr("\"BREAK\" \"k\""));
}

TEST_F(MonitorsTest, ARequestThatWaitsIsShownWhenItComes) {
  other_.Say("LOCK k a");
  server_.Connect().Say("LOCK k b WAIT 10s");
  EXPECT_THAT(monitor_.Hear(), HasSubstr("\"LOCK\" \"k\" \"b\" \"WAIT\" \"10s\""));
  other_.Say("UNLOCK k a");
  EXPECT_THAT(monitor_.Hear(), testing::EndsWith("\"UNLOCK\" \"k\" \"a\""));
}

TEST_F(MonitorsTest, AScriptIsShownBeforeWhatItCalls) {
  other_.Say({"EVAL", "return redis.call('SET', 'k', 'v')", "0"});
  const std::string seen = monitor_.Hear();
  ASSERT_THAT(seen, HasSubstr("\"EVAL\""));
  ASSERT_THAT(seen, HasSubstr("[0 lua] \"SET\" \"k\" \"v\""));
  EXPECT_LT(seen.find("\"EVAL\""), seen.find("[0 lua]"));
}

TEST_F(MonitorsTest, SeesItsOwnRequestsBehindTheirReplies) {
  EXPECT_EQ(monitor_.Say("PING"), "PONG\n1700000000.123456 [0 127.0.0.1:50001] \"PING\"");
  EXPECT_EQ(monitor_.Say("MONITOR"), "OK");
}

TEST_F(MonitorsTest, EndsWithResetOrTheConnection) {
  EXPECT_EQ(monitor_.Say("RESET"), "RESET");
  other_.Say("PING");
  EXPECT_EQ(monitor_.Hear(), "");
  monitor_.Say("MONITOR");
  other_.Say("PING");
  EXPECT_THAT(monitor_.Hear(), HasSubstr("PING"));
  monitor_.Close();
  EXPECT_EQ(other_.Say("PING"), "PONG");
  EXPECT_TRUE(server_.parts().monitors.empty());
}

TEST_F(MonitorsTest, OneThatDoesNotReadIsClosed) {
  monitor_.LimitOutput(200);
  for (int i = 0; i < 10; ++i) other_.Say("PING");
  EXPECT_TRUE(monitor_.is_closed());
  EXPECT_EQ(other_.Say("PING"), "PONG");
}

TEST_F(MonitorsTest, IsAFlagInTheListOfClients) {
  monitor_.Say("HELLO 3");
  monitor_.Say("SUBSCRIBE c");
  EXPECT_THAT(other_.Say("CLIENT LIST"), HasSubstr("flags=OP "));
  monitor_.Say("RESET");
  EXPECT_THAT(other_.Say("CLIENT LIST"), testing::Not(HasSubstr("flags=O")));
}

}  // namespace
}  // namespace fairlock::command
