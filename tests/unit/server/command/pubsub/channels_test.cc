#include "server/command/pubsub/channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ChannelsTest : public testing::Test {
 protected:
  TestClient& ConnectInResp3() {
    TestClient& client = server_.Connect();
    client.Say("HELLO 3");
    return client;
  }

  TestServer server_;
  TestClient& other_ = server_.Connect();
};

TEST_F(ChannelsTest, EachSubscriptionIsConfirmedWithTheNumberOfAll) {
  TestClient& client = server_.Connect();
  EXPECT_EQ(client.Say("SUBSCRIBE a b a"),
            "[\"subscribe\" \"a\" 1]\n[\"subscribe\" \"b\" 2]\n[\"subscribe\" \"a\" 2]");
  EXPECT_EQ(client.Say("PSUBSCRIBE a*"), "[\"psubscribe\" \"a*\" 3]");
  EXPECT_EQ(client.Say("UNSUBSCRIBE b x"), "[\"unsubscribe\" \"b\" 2]\n[\"unsubscribe\" \"x\" 2]");
  EXPECT_EQ(client.Say("UNSUBSCRIBE"), "[\"unsubscribe\" \"a\" 1]");
  EXPECT_EQ(client.Say("UNSUBSCRIBE"), "[\"unsubscribe\" nil 1]");
  EXPECT_EQ(client.Say("PUNSUBSCRIBE"), "[\"punsubscribe\" \"a*\" 0]");
  EXPECT_EQ(client.client().subscriptions, nullptr);
}

TEST_F(ChannelsTest, AMessageComesOnceForEachNameThatMatches) {
  TestClient& client = server_.Connect();
  client.Say("SUBSCRIBE news");
  client.Say("PSUBSCRIBE n*");
  EXPECT_EQ(other_.Say("PUBLISH news hello"), "2");
  EXPECT_EQ(client.Hear(),
            "[\"message\" \"news\" \"hello\"]\n[\"pmessage\" \"n*\" \"news\" \"hello\"]");
  EXPECT_EQ(other_.Say("PUBLISH other hello"), "0");
  EXPECT_EQ(client.Hear(), "");
  EXPECT_EQ(other_.Hear(), "");
}

TEST_F(ChannelsTest, BothVersionsOfTheProtocolGetTheirOwnForm) {
  TestClient& second = server_.Connect();
  TestClient& third = ConnectInResp3();
  second.Say("SUBSCRIBE c");
  EXPECT_EQ(third.Say("SUBSCRIBE c"), ">[\"subscribe\" \"c\" 1]");
  EXPECT_EQ(other_.Say("PUBLISH c x"), "2");
  EXPECT_EQ(second.HearBytes(), "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n");
  EXPECT_EQ(third.HearBytes(), ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n");
}

TEST_F(ChannelsTest, WhoPublishesToItselfReadsTheMessageBeforeTheReply) {
  TestClient& client = ConnectInResp3();
  client.Say("SUBSCRIBE c");
  EXPECT_EQ(client.Say("PUBLISH c x"), ">[\"message\" \"c\" \"x\"]\n1");
}

TEST_F(ChannelsTest, ASubscriberInResp2MayAskForLittleElse) {
  TestClient& client = server_.Connect();
  client.Say("SUBSCRIBE c");
  EXPECT_EQ(client.Say("PING"), "[\"pong\" \"\"]");
  EXPECT_EQ(client.Say("PING hi"), "[\"pong\" \"hi\"]");
  EXPECT_EQ(client.Say("LOCK k me"),
            "-ERR Can't execute 'lock': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
            "RESET are allowed in this context");
  EXPECT_THAT(client.Say("CONFIG GET *"), StartsWith("-ERR Can't execute 'config|get': only "));
  EXPECT_THAT(client.Say("HELLO 3"), StartsWith("-ERR Can't execute 'hello': only "));
  EXPECT_EQ(other_.Say("LOCKED k"), "0");
  client.Say("UNSUBSCRIBE c");
  EXPECT_EQ(client.Say("PING"), "PONG");
}

TEST_F(ChannelsTest, ASubscriberInResp3MayAskForAll) {
  TestClient& client = ConnectInResp3();
  client.Say("SUBSCRIBE c");
  EXPECT_EQ(client.Say("PING"), "PONG");
  EXPECT_EQ(client.Say("LOCKED k"), "0");
  EXPECT_THAT(client.Say("HELLO 2"), HasSubstr("\"proto\" 2"));
  EXPECT_THAT(client.Say("LOCKED k"), StartsWith("-ERR Can't execute 'locked': only "));
}

TEST_F(ChannelsTest, ResetQuitAndTheEndOfAConnectionEndItsSubscriptions) {
  TestClient& resets = server_.Connect();
  TestClient& quits = server_.Connect();
  TestClient& vanishes = server_.Connect();
  for (TestClient* client : {&resets, &quits, &vanishes}) client->Say("SUBSCRIBE c");
  EXPECT_EQ(other_.Say("PUBSUB NUMSUB c"), "[\"c\" 3]");
  EXPECT_EQ(resets.Say("RESET"), "RESET");
  EXPECT_EQ(resets.Say("PING"), "PONG");
  EXPECT_EQ(quits.Say("QUIT"), "OK");
  vanishes.Close();
  EXPECT_EQ(other_.Say("PUBSUB NUMSUB c"), "[\"c\" 0]");
  EXPECT_EQ(other_.Say("PUBLISH c x"), "0");
}

TEST_F(ChannelsTest, TellsWhoListens) {
  TestClient& client = server_.Connect();
  client.Say("SUBSCRIBE red green");
  client.Say("PSUBSCRIBE r* g* *");
  other_.Say("HELLO 3");
  other_.Say("PSUBSCRIBE r*");
  EXPECT_EQ(other_.Say("PUBSUB NUMPAT"), "3");
  EXPECT_EQ(other_.Say("PUBSUB CHANNELS r*"), "[\"red\"]");
  EXPECT_EQ(other_.Say("PUBSUB NUMSUB red blue"), "[\"red\" 1 \"blue\" 0]");
  EXPECT_THAT(other_.Say("INFO stats"), HasSubstr("pubsub_channels:2\r\npubsub_patterns:3\r\n"));
  const std::string list = other_.Say("CLIENT LIST TYPE pubsub");
  EXPECT_THAT(list, HasSubstr("flags=P db=0 sub=2 psub=3 ssub=0"));
  EXPECT_THAT(list, HasSubstr("flags=P db=0 sub=0 psub=1 ssub=0"));
  EXPECT_EQ(other_.Say("CLIENT LIST TYPE normal"), "\"\"");
}

TEST_F(ChannelsTest, ShardChannelsAreNamesOfTheirOwn) {
  TestClient& client = ConnectInResp3();
  EXPECT_EQ(client.Say("SSUBSCRIBE c d"), ">[\"ssubscribe\" \"c\" 1]\n>[\"ssubscribe\" \"d\" 2]");
  EXPECT_EQ(client.Say("SUBSCRIBE c"), ">[\"subscribe\" \"c\" 1]");
  client.Say("PSUBSCRIBE *");
  EXPECT_EQ(other_.Say("SPUBLISH c x"), "1");
  EXPECT_EQ(client.Hear(), ">[\"smessage\" \"c\" \"x\"]");
  EXPECT_EQ(other_.Say("PUBLISH d x"), "1");
  EXPECT_EQ(client.Hear(), ">[\"pmessage\" \"*\" \"d\" \"x\"]");
  EXPECT_EQ(other_.Say("PUBSUB SHARDCHANNELS c*"), "[\"c\"]");
  EXPECT_EQ(other_.Say("PUBSUB SHARDNUMSUB c e"), "[\"c\" 1 \"e\" 0]");
  EXPECT_THAT(other_.Say("INFO stats"), HasSubstr("pubsubshard_channels:2\r\n"));
  EXPECT_THAT(other_.Say("CLIENT LIST TYPE pubsub"), HasSubstr("sub=1 psub=1 ssub=2"));
  EXPECT_EQ(client.Say("SUNSUBSCRIBE c"), ">[\"sunsubscribe\" \"c\" 1]");
  client.Close();
  EXPECT_EQ(other_.Say("PUBSUB SHARDCHANNELS"), "[]");
}

TEST_F(ChannelsTest, ShardMessagesOfAStepFollowItsReplies) {
  TestClient& client = ConnectInResp3();
  client.Say("SSUBSCRIBE c");
  client.Say("MULTI");
  client.Say("SPUBLISH c x");
  client.Say("SSUBSCRIBE d");
  EXPECT_EQ(client.Say("EXEC"),
            "[1 -ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client]\n"
            ">[\"smessage\" \"c\" \"x\"]");
}

// The engine does not count subscribers to shard channels as readers of grants.
TEST_F(ChannelsTest, NoGrantIsToldOnAShardChannel) {
  TestClient& client = ConnectInResp3();
  client.Say("SSUBSCRIBE c __lock@0__:k");
  EXPECT_THAT(other_.Say("LOCK k me KEEP 1s NOTIFY c"), HasSubstr("has no subscriber"));
  other_.Say("LOCK k me");
  EXPECT_EQ(client.Hear(), "");
}

TEST_F(ChannelsTest, KillingSubscribersSparesOthers) {
  TestClient& subscriber = server_.Connect();
  TestClient& plain = server_.Connect();
  subscriber.Say("SUBSCRIBE c");
  EXPECT_EQ(other_.Say("CLIENT KILL TYPE pubsub"), "1");
  EXPECT_TRUE(subscriber.is_closed());
  EXPECT_FALSE(plain.is_closed());
}

TEST_F(ChannelsTest, OnlyTheServerPublishesUnderItsOwnPrefix) {
  TestClient& client = server_.Connect();
  client.Say("SUBSCRIBE __lock@0__:k");
  EXPECT_EQ(other_.Say("PUBLISH __lock@0__:k forged"),
            "-ERR channel: '__lock@0__:k' begins with '__', which is reserved for the "
            "server; choose another name");
  EXPECT_EQ(client.Hear(), "");
}

TEST_F(ChannelsTest, AConnectionHasABoundedNumberOfSubscriptions) {
  server_.parts().channels.set_subscriptions_max(3);
  TestClient& client = ConnectInResp3();
  client.Say("SUBSCRIBE a b");
  EXPECT_EQ(client.Say("PSUBSCRIBE c d"),
            "-FULL this connection has 2 subscriptions and asks for 2 more; at most 3 "
            "(max_subscriptions) are allowed");
  EXPECT_EQ(client.Say("PUBSUB NUMPAT"), "0");
  EXPECT_EQ(client.Say("PSUBSCRIBE c"), ">[\"psubscribe\" \"c\" 3]");
  EXPECT_EQ(server_.Connect().Say("SUBSCRIBE a"), "[\"subscribe\" \"a\" 1]");
  // A subscription that exists already is not counted twice.
  EXPECT_EQ(client.Say("SUBSCRIBE a"), ">[\"subscribe\" \"a\" 3]");
  EXPECT_EQ(client.Say("SUBSCRIBE c b"),
            "-FULL this connection has 3 subscriptions and asks for 1 more; at most 3 "
            "(max_subscriptions) are allowed");
  client.Say("UNSUBSCRIBE b");
  EXPECT_EQ(client.Say("SUBSCRIBE d d a"),
            ">[\"subscribe\" \"d\" 3]\n>[\"subscribe\" \"d\" 3]\n>[\"subscribe\" \"a\" 3]");
}

TEST_F(ChannelsTest, ANameHasABoundedLength) {
  const std::string longest(Channels::kNameBytesMax, 'x');
  EXPECT_EQ(other_.Say({"SUBSCRIBE", "a", longest + "x"}),
            "-ERR channel must have at most 4096 bytes, got 4097");
  EXPECT_EQ(other_.Say({"PUBLISH", longest + "x", "message"}),
            "-ERR channel must have at most 4096 bytes, got 4097");
  EXPECT_EQ(other_.client().subscriptions, nullptr);
  EXPECT_EQ(other_.Say({"SUBSCRIBE", longest}), "[\"subscribe\" \"" + longest + "\" 1]");
}

TEST_F(ChannelsTest, WhoDoesNotReadIsClosedAndNobodyElseNotices) {
  TestClient& slow = server_.Connect();
  TestClient& quick = server_.Connect();
  slow.Say("SUBSCRIBE c");
  quick.Say("SUBSCRIBE c");
  slow.LimitOutput(100);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(other_.Say("PUBLISH c hello"), slow.is_closed() ? "1" : "2");
    EXPECT_EQ(quick.Hear(), "[\"message\" \"c\" \"hello\"]");
  }
  EXPECT_TRUE(slow.is_closed());
  EXPECT_LE(slow.client().output.bytes().size(), 100U);
}

TEST_F(ChannelsTest, NothingIsPushedBehindTheLastReply) {
  TestClient& client = server_.Connect();
  // Both arrive in one packet, so the connection ends while it is subscribed.
  EXPECT_EQ(client.SendBytes("SUBSCRIBE c\r\nQUIT\r\nPUBLISH c x\r\n"),
            "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n+OK\r\n");
}

class NotedNames final : public ChannelObserver {
 public:
  void NoticeFirstSubscriber(std::string_view name, ChannelKind kind) override {
    Note('+', name, kind);
  }
  void NoticeLastSubscriberGone(std::string_view name, ChannelKind kind) override {
    Note('-', name, kind);
  }

  std::vector<std::string> noted;

 private:
  void Note(char what, std::string_view name, ChannelKind kind) {
    noted.push_back(what + std::string(name) + (kind == ChannelKind::kPattern ? " glob" : ""));
  }
};

TEST_F(ChannelsTest, ObserversLearnOfTheFirstSubscriberAndTheLast) {
  NotedNames observer;
  server_.parts().channels.AddObserver(observer);
  TestClient& one = server_.Connect();
  TestClient& two = server_.Connect();
  one.Say("SUBSCRIBE c c");
  two.Say("SUBSCRIBE c");
  one.Say("PSUBSCRIBE c");
  one.Say("UNSUBSCRIBE c");
  two.Say("UNSUBSCRIBE c");
  one.Close();
  EXPECT_THAT(observer.noted, testing::ElementsAre("+c", "+c glob", "-c", "-c glob"));
}

}  // namespace
}  // namespace fairlock::command
