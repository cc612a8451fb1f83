#include "server/command/pubsub/event_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class EventPublisherTest : public testing::Test {
 protected:
  EventPublisherTest() { listener_.Say("HELLO 3"); }

  // Returns the messages that arrived, each on a line of the form "channel message".
  static std::string Messages(TestClient& listener) {
    std::string text = listener.Hear();
    std::string messages;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      messages += Shortened(text.substr(at, end - at)) + "\n";
      at = end + 1;
    }
    return messages;
  }

  // Returns the key events since the last call, such as "k set" and "k del".
  std::string KeyEvents() { return Messages(listener_); }

  TestServer server_;
  TestClient& listener_ = server_.Connect();
  TestClient& alice_ = server_.Connect();
  TestClient& bob_ = server_.Connect();

 private:
  // Turns >["pmessage" "*" "__keyspace@0__:k" "set"] into k set.
  static std::string Shortened(const std::string& push) {
    const std::size_t name = push.rfind("__:");
    if (name == std::string::npos) return push;
    std::string text = push.substr(name + 3);
    text.resize(text.size() - 2);  // the last quote and the bracket
    return text.replace(text.find("\" \""), 3, " ");
  }
};

TEST_F(EventPublisherTest, TellsOneJsonObjectAnEvent) {
  listener_.Say("SUBSCRIBE __lock@0__:k");
  const std::string token = alice_.Say("LOCK k alice PX 5000");
  EXPECT_EQ(listener_.HearBytes(),
            ">3\r\n$7\r\nmessage\r\n$12\r\n__lock@0__:k\r\n$" + std::to_string(120 + token.size()) +
                "\r\n{\"event\":\"granted\",\"db\":0,\"key\":\"k\",\"owner\":\"alice\",\"token\":" +
                token + ",\"at\":1700000000123,\"waited_ms\":0,\"held_ms\":0,\"reason\":null}\r\n");
  bob_.Say("LOCK k bob");
  EXPECT_THAT(listener_.Hear(),
              HasSubstr("{\"event\":\"denied\",\"db\":0,\"key\":\"k\",\"owner\":\"bob\",\"token\":"
                        "null,\"at\":1700000000123,\"waited_ms\":0,\"held_ms\":0,\"reason\":"
                        "\"held\"}"));
}

TEST_F(EventPublisherTest, TellsHowLongItWasWaitedForAndHeld) {
  listener_.Say("SUBSCRIBE __lock@0__:k");
  alice_.Say("LOCK k alice PX 60000");
  bob_.Say("LOCK k bob WAIT 10s");
  listener_.Hear();
  server_.AdvanceBy(1500);
  alice_.Say("UNLOCK k alice");
  const std::string heard = listener_.Hear();
  EXPECT_THAT(heard,
              HasSubstr("\"event\":\"released\",\"db\":0,\"key\":\"k\",\"owner\":\"alice\""));
  EXPECT_THAT(heard, HasSubstr("\"at\":1700000001623,\"waited_ms\":0,\"held_ms\":1500"));
  EXPECT_THAT(heard, HasSubstr("\"event\":\"granted\",\"db\":0,\"key\":\"k\",\"owner\":\"bob\""));
  EXPECT_THAT(heard, HasSubstr("\"waited_ms\":1500,\"held_ms\":0,\"reason\":null"));
  EXPECT_LT(heard.find("released"), heard.find("granted"));
}

TEST_F(EventPublisherTest, BytesThatAreNoTextComeAgainInBase64) {
  listener_.Say("PSUBSCRIBE __lock@3__:*");
  alice_.Say("SELECT 3");
  alice_.Say("LOCK \"k\\xe9\" \"\\xff\\x00\"");
  const std::string heard = listener_.Hear();
  EXPECT_THAT(heard, HasSubstr("\"__lock@3__:k\xe9\""));
  EXPECT_THAT(heard, HasSubstr("\"db\":3,\"key\":\"k\\ufffd\",\"owner\":\"\\ufffd\\u0000\""));
  EXPECT_THAT(heard,
              HasSubstr("\"reason\":null,\"key_base64\":\"a+k=\",\"owner_base64\":\"/wA=\"}"));
}

TEST_F(EventPublisherTest, EachKindOfEventHasItsWord) {
  listener_.Say("PSUBSCRIBE __lock@*");
  const auto last_event = [&] {
    const std::string heard = listener_.Hear();
    const std::size_t at = heard.rfind("{\"event\":\"");
    return at == std::string::npos ? heard
                                   : heard.substr(at + 10, heard.find('"', at + 10) - at - 10);
  };
  const auto tells = [&](TestClient& client, std::string_view line) {
    client.Say(line);
    return last_event();
  };
  EXPECT_EQ(tells(alice_, "LOCK k alice PX 5000"), "granted");
  EXPECT_EQ(tells(alice_, "LOCK k alice PX 5000"), "reacquired");
  EXPECT_EQ(tells(alice_, "RENEW k alice"), "renewed");
  EXPECT_EQ(tells(bob_, "LOCK k bob"), "denied");
  EXPECT_EQ(tells(bob_, "LOCK k bob KEEP 1s"), "queued");
  EXPECT_EQ(tells(bob_, "CANCEL k bob"), "cancelled");
  bob_.Say("LOCK k bob KEEP 1s");
  server_.AdvanceBy(2000);
  EXPECT_EQ(last_event(), "lapsed");
  bob_.Say("LOCK k bob WAIT 100ms");
  server_.AdvanceBy(101);
  EXPECT_EQ(last_event(), "timeout");
  EXPECT_EQ(tells(alice_, "TRANSFER k alice carol PX 1000"), "transferred");
  server_.AdvanceBy(1001);
  EXPECT_EQ(last_event(), "expired");
  alice_.Say("LOCK k alice");
  EXPECT_EQ(tells(bob_, "BREAK k"), "broken");
  alice_.Say("LOCK k alice");
  EXPECT_EQ(tells(bob_, "BREAK k GRACE 100ms"), "leaving");
  server_.AdvanceBy(101);
  EXPECT_EQ(last_event(), "broken");
  alice_.Say("LOCK k alice SESSION");
  alice_.Close();
  EXPECT_EQ(last_event(), "disconnected");
  EXPECT_EQ(tells(bob_, "UNLOCK k nobody"), "");
}

TEST_F(EventPublisherTest, AHandOverIsDelThenSet) {
  listener_.Say("PSUBSCRIBE __keyspace@0__:*");
  alice_.Say("LOCK k alice");
  bob_.Say("LOCK k bob WAIT 10s");
  EXPECT_EQ(KeyEvents(), "k set\n");
  alice_.Say("UNLOCK k alice");
  EXPECT_EQ(KeyEvents(), "k del\nk set\n");
  bob_.Say("LOCK k bob PX 1000");
  EXPECT_EQ(KeyEvents(), "");
  bob_.Say("RENEW k bob PX 1000");
  EXPECT_EQ(KeyEvents(), "k expire\n");
  alice_.Say("LOCK k alice WAIT 10s");
  server_.AdvanceBy(1001);
  EXPECT_EQ(KeyEvents(), "k expired\nk set\n");
  alice_.Say("TRANSFER k alice carol");
  EXPECT_EQ(KeyEvents(), "k set\n");
  alice_.Say("BREAK k");
  EXPECT_EQ(KeyEvents(), "k del\n");
}

TEST_F(EventPublisherTest, TheEndOfCoolingIsToldAgain) {
  listener_.Say("PSUBSCRIBE __keyspace@0__:*");
  alice_.Say("LOCK k alice MINHOLD 1s");
  alice_.Say("UNLOCK k alice");
  EXPECT_EQ(KeyEvents(), "k set\nk del\n");
  server_.AdvanceBy(1001);
  EXPECT_EQ(KeyEvents(), "k expired\n");
  alice_.Say("LOCK k alice MINHOLD 1s");
  alice_.Say("UNLOCK k alice");
  alice_.Say("BREAK k");
  EXPECT_EQ(KeyEvents(), "k set\nk del\nk del\n");
}

TEST_F(EventPublisherTest, TheEndOfAReservationIsToldAgainUnlessItIsTaken) {
  listener_.Say("PSUBSCRIBE __keyspace@0__:*");
  alice_.Say("LOCK k alice");
  bob_.Say("LOCK k bob KEEP 1s");
  alice_.Say("UNLOCK k alice");
  EXPECT_EQ(KeyEvents(), "k set\nk del\n");
  server_.AdvanceBy(1001);
  EXPECT_EQ(KeyEvents(), "k expired\n");
  alice_.Say("LOCK k alice");
  bob_.Say("LOCK k bob KEEP 1s");
  alice_.Say("UNLOCK k alice");
  bob_.Say("CANCEL k bob");
  EXPECT_EQ(KeyEvents(), "k set\nk del\nk del\n");
  alice_.Say("LOCK k alice");
  bob_.Say("LOCK k bob KEEP 1s");
  alice_.Say("UNLOCK k alice");
  bob_.Say("LOCK k bob");
  EXPECT_EQ(KeyEvents(), "k set\nk del\nk set\n");
}

TEST_F(EventPublisherTest, TheEndOfAnMlockThatWasNextIsToldOnEachKey) {
  listener_.Say("PSUBSCRIBE __keyspace@0__:*");
  alice_.Say("LOCK a alice");
  alice_.Say("LOCK b alice");
  bob_.Say("MLOCK 2 a b bob WAIT 300ms");
  alice_.Say("UNLOCK b alice");
  EXPECT_EQ(KeyEvents(), "a set\nb set\nb del\n");
  EXPECT_EQ(alice_.Say("EXISTS b"), "1");
  server_.AdvanceBy(301);
  EXPECT_EQ(alice_.Say("EXISTS b"), "0");
  EXPECT_EQ(KeyEvents(), "b expired\n");
  bob_.Say("MLOCK 2 a b bob WAIT 10s");
  alice_.Say("CANCEL a bob");
  EXPECT_EQ(KeyEvents(), "b del\n");
  bob_.Say("MLOCK 2 a b bob WAIT 10s");
  alice_.Say("CANCEL b bob");
  EXPECT_EQ(KeyEvents(), "b del\n");
  bob_.Say("MLOCK 2 a b bob WAIT 10s");
  bob_.Close();
  EXPECT_EQ(alice_.Say("EXISTS b"), "0");
  EXPECT_EQ(KeyEvents(), "b del\n");
}

TEST_F(EventPublisherTest, AnMlockThatIsGrantedLeavesItsKeys) {
  listener_.Say("PSUBSCRIBE __keyspace@0__:*");
  alice_.Say("LOCK a alice");
  bob_.Say("MLOCK 2 a b bob WAIT 10s");
  alice_.Say("UNLOCK a alice");
  EXPECT_EQ(KeyEvents(), "a set\na del\na set\nb set\n");
}

TEST_F(EventPublisherTest, WithinAStepTheEndOfAnMlockIsToldOnce) {
  listener_.Say("PSUBSCRIBE __keyspace@0__:*");
  alice_.Say("LOCK a alice");
  bob_.Say("MLOCK 2 a b bob WAIT 10s");
  KeyEvents();
  alice_.Say("MULTI");
  alice_.Say("CANCEL a bob");
  alice_.Say("CANCEL b bob");
  alice_.Say("EXEC");
  EXPECT_EQ(KeyEvents(), "b del\n");
}

TEST_F(EventPublisherTest, AGrantThatNeverArrivedIsSetThenDel) {
  listener_.Say("PSUBSCRIBE __keyspace@0__:*");
  alice_.Say("LOCK k alice");
  bob_.Say("LOCK k bob WAIT 10s");
  KeyEvents();
  // The lock and the connection of the new holder both end before the reply is sent.
  server_.parts().locks.engine().Unlock({{0, "k"}, "alice", {}},
                                        server_.parts().locks.StepAt(server_.now()));
  server_.parts().delivery.Deliver(server_.now());
  bob_.Close();
  EXPECT_EQ(KeyEvents(), "k del\nk set\nk del\n");
}

TEST_F(EventPublisherTest, KeyEventChannelsCarryTheKey) {
  listener_.Say("SUBSCRIBE __keyevent@1__:del __keyevent@1__:set");
  alice_.Say("LOCK k alice");
  alice_.Say("SELECT 1");
  alice_.Say("LOCK k1 alice");
  alice_.Say("UNLOCK k1 alice");
  EXPECT_EQ(KeyEvents(), "set k1\ndel k1\n");
}

TEST_F(EventPublisherTest, TheSettingChoosesEventsAndChannelsOfRedis) {
  const auto heard_under = [&](std::string_view letters) {
    server_.parts().event_publisher.set_key_events(ParseKeyEventClasses(letters).value());
    alice_.Say("LOCK k alice");
    alice_.Say("RENEW k alice PX 1000");
    alice_.Say("UNLOCK k alice");
    alice_.Say("LOCK k alice PX 1000");
    server_.AdvanceBy(1001);
    return KeyEvents();
  };
  listener_.Say("PSUBSCRIBE __key*");
  EXPECT_EQ(heard_under("K$"), "k set\nk set\n");
  EXPECT_EQ(heard_under("Kg"), "k expire\nk del\n");
  EXPECT_EQ(heard_under("Kx"), "k expired\n");
  EXPECT_EQ(heard_under("Ex"), "expired k\n");
  EXPECT_EQ(heard_under("KEx"), "k expired\nexpired k\n");
  EXPECT_EQ(heard_under("KElshzetdnm"), "");
  EXPECT_EQ(heard_under("A"), "");
  EXPECT_EQ(heard_under("KEA"),
            "k set\nset k\nk expire\nexpire k\nk del\ndel k\nk set\nset k\nk expired\nexpired k\n");
}

TEST_F(EventPublisherTest, HearsTheEngineOnlyWhileSomebodyMayListen) {
  class Counter final : public engine::EventSink {
   public:
    void Take(const engine::Event& /*event*/) override { ++count; }
    int count = 0;
  };
  // While the publisher has no subscribers, it is not a sink: the counter is the only one, and
  // dropping it works.
  const auto is_told = [&] {
    Counter counter;
    server_.parts().locks.AddEventSink(counter);
    server_.parts().locks.DropEventSink(counter);
    alice_.Say("LOCK k alice");
    alice_.Say("UNLOCK k alice");
    return !listener_.Hear().empty();
  };
  EXPECT_FALSE(is_told());
  for (const char* name : {"__lock@0__:k", "__keyspace@0__:k", "__keyevent@0__:set"}) {
    listener_.Say({"SUBSCRIBE", name});
    EXPECT_TRUE(is_told()) << name;
    listener_.Say({"UNSUBSCRIBE", name});
    EXPECT_FALSE(is_told()) << name;
  }
  for (const char* glob : {"*", "__*", "?_keyspace@0__:k", "[_]*", "\\__key*", "*k"}) {
    listener_.Say({"PSUBSCRIBE", glob});
    EXPECT_TRUE(is_told()) << glob;
    listener_.Say({"PUNSUBSCRIBE", glob});
  }
  for (const char* glob : {"k*", "__x*", "_", "__lock@1*", "", "__lock@0__:K", "__l*"}) {
    listener_.Say({"PSUBSCRIBE", glob});
    EXPECT_FALSE(is_told()) << glob;
    listener_.Say({"PUNSUBSCRIBE", glob});
  }
}

TEST_F(EventPublisherTest, APatternReachesTheChannelsOfLocksOnlyByTheirPrefix) {
  server_.parts().event_publisher.set_key_events(0);
  const auto is_told = [&](const char* glob) {
    listener_.Say({"PSUBSCRIBE", glob});
    alice_.Say("LOCK k alice");
    alice_.Say("UNLOCK k alice");
    const bool has_come = !listener_.Hear().empty();
    listener_.Say({"PUNSUBSCRIBE", glob});
    return has_come;
  };
  const auto all = {"*", "__*", "__lock*", "?_lock@0__:k", "[_]*", "\\__lock@*", "*k"};
  for (const char* glob : all) EXPECT_FALSE(is_told(glob)) << glob;
  for (const char* glob : {"__lock@*", "__lock@0__:*", "__lock@?__:k", "__lock@0__:k"}) {
    EXPECT_TRUE(is_told(glob)) << glob;
  }
  listener_.Say("SUBSCRIBE __lock@0__:k");
  EXPECT_TRUE(is_told("*"));
  listener_.Say("UNSUBSCRIBE");
  server_.parts().channels.set_lock_events_to_all_patterns(true);
  for (const char* glob : all) EXPECT_TRUE(is_told(glob)) << glob;
}

TEST_F(EventPublisherTest, AReplyComesBeforeTheMessagesOfItsRequest) {
  listener_.Say("SUBSCRIBE __keyspace@0__:k");
  const std::string said = listener_.Say("LOCK k me");
  EXPECT_THAT(said,
              testing::MatchesRegex("[0-9]+\n>\\[\"message\" \"__keyspace@0__:k\" \"set\"\\]"));
  EXPECT_EQ(listener_.Say("UNLOCK k me"), "1\n>[\"message\" \"__keyspace@0__:k\" \"del\"]");
}

TEST_F(EventPublisherTest, AWaiterReadsItsTokenBeforeTheNewsOfItsGrant) {
  listener_.Say("SUBSCRIBE __keyspace@0__:k c");
  alice_.Say("LOCK k alice");
  EXPECT_EQ(listener_.Hear(), ">[\"message\" \"__keyspace@0__:k\" \"set\"]");
  EXPECT_EQ(listener_.Say("LOCK k me WAIT 10s"), "");
  // The client waits, but still receives messages.
  alice_.Say("PUBLISH c hello");
  EXPECT_EQ(listener_.Hear(), ">[\"message\" \"c\" \"hello\"]");
  alice_.Say("UNLOCK k alice");
  EXPECT_THAT(listener_.Hear(),
              testing::MatchesRegex("[0-9]+\n>\\[\"message\" \"__keyspace@0__:k\" \"del\"\\]\n"
                                    ">\\[\"message\" \"__keyspace@0__:k\" \"set\"\\]"));
}

TEST_F(EventPublisherTest, TheEndOfAnotherConnectionIsToldBehindTheReplyThatCausedIt) {
  listener_.Say("SUBSCRIBE __keyspace@0__:k");
  alice_.Say("LOCK k alice SESSION");
  listener_.Hear();
  const std::string number = std::to_string(alice_.id());
  EXPECT_EQ(listener_.Say({"CLIENT", "KILL", "ID", number}),
            "1\n>[\"message\" \"__keyspace@0__:k\" \"del\"]");
}

TEST_F(EventPublisherTest, NobodyHearsWhatHeDidNotAskFor) {
  listener_.Say("SUBSCRIBE __lock@0__:other __keyspace@1__:k __keyevent@0__:expired");
  alice_.Say("LOCK k alice");
  bob_.Say("LOCK k bob WAIT 10s");
  alice_.Say("UNLOCK k alice");
  bob_.Hear();
  EXPECT_THAT(listener_.Hear(), IsEmpty());
  EXPECT_THAT(alice_.Hear(), IsEmpty());
  EXPECT_THAT(bob_.Hear(), IsEmpty());
}

}  // namespace
}  // namespace fairlock::command
