#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class NotifyTest : public testing::Test {
 protected:
  NotifyTest() {
    ear_.Say("SUBSCRIBE news");
    EXPECT_NE(alice_.Say("LOCK k alice EX 600"), "nil");
  }

  TestServer server_;
  TestClient& ear_ = server_.Connect();
  TestClient& alice_ = server_.Connect();
  TestClient& bob_ = server_.Connect();
};

TEST_F(NotifyTest, TellsOneJsonObjectOfAnOutcome) {
  EXPECT_EQ(bob_.Say("LOCK k bob NOTIFY news"), "nil");
  server_.AdvanceBy(5);
  alice_.Say("UNLOCK k alice");
  const std::string token = alice_.Say("LOCK other alice");
  EXPECT_EQ(
      ear_.Hear(),
      "[\"message\" \"news\" \"{\"event\":\"granted\",\"db\":0,\"key\":\"k\",\"owner\":\"bob\","
      "\"token\":2,\"at\":1700000000128,\"waited_ms\":5,\"held_ms\":0,\"reason\":null}\"]");
  EXPECT_EQ(token, "3");
}

TEST_F(NotifyTest, KeysOfAnMlockThatAreNotUtf8HaveTheirBytes) {
  EXPECT_EQ(bob_.Say({"MLOCK", "2", "k", "\xff", "bob", "NOTIFY", "news"}), "nil");
  alice_.Say("UNLOCK k alice");
  EXPECT_THAT(ear_.HearBytes(), HasSubstr("\"keys\":[\"k\",\"\\ufffd\"],"
                                          "\"keys_base64\":[\"aw==\",\"/w==\"]}"));
}

TEST_F(NotifyTest, NobodyElseHearsOfIt) {
  TestClient& other = server_.Connect();
  other.Say("SUBSCRIBE olds");
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  EXPECT_THAT(ear_.Hear(), HasSubstr("granted"));
  EXPECT_THAT(other.Hear(), IsEmpty());
  EXPECT_THAT(bob_.Hear(), IsEmpty());
}

TEST_F(NotifyTest, PatternsHearItToo) {
  TestClient& other = server_.Connect();
  other.Say("PSUBSCRIBE n*");
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  EXPECT_THAT(other.Hear(), HasSubstr("granted"));
}

TEST_F(NotifyTest, AMessageToOneselfComesBehindTheReply) {
  TestClient& both = server_.Connect();
  both.Say("HELLO 3");
  both.Say("SUBSCRIBE mine");
  both.Say("LOCK k both NOTIFY mine");
  const std::string heard = both.Say("BREAK k");
  EXPECT_EQ(heard.substr(0, 3), "1\n>");
  EXPECT_THAT(heard, HasSubstr("granted"));
}

TEST_F(NotifyTest, AGrantThatNobodyReadIsUndone) {
  bob_.Say("LOCK k bob KEEP 60s NOTIFY news");
  alice_.Say("UNLOCK k alice");
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "1");
  ear_.Close();
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "0");
  EXPECT_EQ(bob_.Say("POSITION k bob"), "1");
  TestClient& next = server_.Connect();
  EXPECT_THAT(next.Say("SUBSCRIBE news"), HasSubstr("granted"));
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "1");
}

TEST_F(NotifyTest, AGrantThatWasReadStands) {
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  ear_.Hear();
  ear_.Close();
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "1");
}

TEST_F(NotifyTest, AGrantThatWasRenewedStands) {
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  EXPECT_EQ(bob_.Say("RENEW k bob"), "1");
  ear_.Close();
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "1");
}

TEST_F(NotifyTest, ARepeatedLockTakesTheDeliveryToItsOwnConnection) {
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  EXPECT_EQ(bob_.Say("LOCK k bob"), "2");
  ear_.Close();
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "1");
}

TEST_F(NotifyTest, OneOfSeveralSubscribersIsEnough) {
  TestClient& second = server_.Connect();
  second.Say("SUBSCRIBE news");
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  ear_.Close();
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "1");
  EXPECT_THAT(second.Hear(), HasSubstr("granted"));
  second.Close();
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "1");
}

TEST_F(NotifyTest, WhatOneHasReadTheOtherNeedNot) {
  TestClient& second = server_.Connect();
  second.Say("SUBSCRIBE news");
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  EXPECT_THAT(second.Hear(), HasSubstr("granted"));
  second.Close();
  ear_.Close();
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "1");
}

TEST_F(NotifyTest, WhatNoneOfSeveralHasReadIsUndoneWithTheLast) {
  TestClient& second = server_.Connect();
  second.Say("SUBSCRIBE news");
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  ear_.Close();
  second.Close();
  EXPECT_EQ(bob_.Say("LOCKED k bob"), "0");
  EXPECT_EQ(bob_.Say("POSITION k bob"), "1");
}

TEST_F(NotifyTest, WhoCameAfterTheMessageIsToldAnew) {
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  TestClient& second = server_.Connect();
  EXPECT_THAT(second.Say("SUBSCRIBE news"), Not(HasSubstr("granted")));
  ear_.Close();
  EXPECT_THAT(second.Hear(), HasSubstr("\"event\":\"granted\""));
  EXPECT_EQ(bob_.Say("CHECK k 3"), "1");
  EXPECT_EQ(bob_.Say("CHECK k 2"), "0");
}

TEST_F(NotifyTest, ASubscriberOverItsOutputLimitGetsNoGrant) {
  TestClient& carol = server_.Connect();
  ear_.LimitOutput(10);
  bob_.Say("LOCK k bob NOTIFY news");
  alice_.Say("UNLOCK k alice");
  EXPECT_TRUE(ear_.is_closed());
  EXPECT_NE(carol.Say("LOCK k carol"), "nil");
  EXPECT_EQ(carol.Say("POSITION k bob"), "1");
}

// The key is settled within the step, while the subscriber is still there. The message is sent only
// after the step, when the subscriber has left.
TEST_F(NotifyTest, AGrantIsUndoneWhoseSubscriberLeftInTheSameStep) {
  TestClient& both = server_.Connect();
  both.Say("HELLO 3");
  both.Say("SUBSCRIBE mine");
  both.Say("LOCK j alice PX 10");
  EXPECT_EQ(both.Say("LOCK j bob NOTIFY mine"), "nil");
  server_.SkipTo(server_.now() + 20);
  both.Say("MULTI");
  both.Say("LOCKED j bob");
  both.Say("UNSUBSCRIBE mine");
  both.Say("EXEC");
  EXPECT_EQ(bob_.Say("LOCKED j bob"), "0");
  EXPECT_EQ(bob_.Say("POSITION j bob"), "1");
}

TEST_F(NotifyTest, ResetIsTheLossOfASubscriber) {
  bob_.Say("LOCK k bob NOTIFY news");
  ear_.Say("RESET");
  TestClient& carol = server_.Connect();
  EXPECT_EQ(carol.Say("LOCK k carol WAIT 10s"), "");
  alice_.Say("UNLOCK k alice");
  EXPECT_EQ(carol.Hear(), "2");
}

TEST_F(NotifyTest, WhatABreakInAStepTakesIsToldAtItsEnd) {
  EXPECT_NE(bob_.Say("LOCK j bob NOTIFY news"), "nil");
  alice_.Say("MULTI");
  alice_.Say("BREAK j");
  EXPECT_THAT(ear_.Hear(), IsEmpty());
  alice_.Say("EXEC");
  EXPECT_THAT(ear_.Hear(), HasSubstr("\"reason\":\"broken\""));
}

TEST_F(NotifyTest, AGrantAtOnceWhoseReplyWasNotReadIsLost) {
  TestClient& dave = server_.Connect();
  TestClient& other = server_.Connect();
  other.Say("SUBSCRIBE news");
  dave.Send("LOCK j dave NOTIFY news");
  alice_.Say("BREAK j");
  EXPECT_THAT(ear_.Hear(), HasSubstr("\"owner\":\"dave\""));
}

}  // namespace
}  // namespace fairlock::command
