#include "server/sentinel/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "protocol/reply_parser.h"
#include "server/access/slow_hash.h"
#include "server/command/cluster/slots.h"
#include "server/sentinel/instances.h"
#include "tests/unit/server/command/command_test_support.h"
#include "tests/unit/server/command/fake_fleet_test_support.h"

namespace fairlock::sentinel {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SessionTest : public testing::Test {
 protected:
  SessionTest() { Lead("lock2"); }
  ~SessionTest() override { End(); }

  void Lead(std::string_view leader) {
    fleet_.SetLeader(leader);
    for (const Message& message : watch_.Look()) session_->Publish(message);
  }

  std::string SendBytes(std::string_view bytes) {
    input_ += bytes;
    input_.erase(0, session_->Consume(input_, server_.now()));
    return session_->TakeOutput();
  }

  static std::string Show(std::string_view bytes) {
    std::string shown;
    while (!bytes.empty()) {
      protocol::Reply reply;
      std::size_t consumed = 0;
      const auto status = protocol::ReplyParser().Parse(bytes, reply, consumed);
      if (status != protocol::ReplyStatus::kReply) return shown + "(incomplete)";
      shown += (shown.empty() ? "" : "\n") + command::ShowReply(reply);
      bytes.remove_prefix(consumed);
    }
    return shown;
  }

  std::string Say(std::string_view line) { return Show(SendBytes(std::string(line) + "\r\n")); }

  void End() {
    if (session_ == nullptr) return;
    session_->Detach(server_.now());
    session_.reset();
  }

  std::unique_ptr<Session> Connect() {
    return std::make_unique<Session>(server_.parts(), watch_,
                                     command::ClientAddress{"127.0.0.1:40000", "127.0.0.1:3249", 9},
                                     server_.now(), [this] { ++notices_; });
  }

  void Reconnect() {
    End();
    session_ = Connect();
  }

  int notices_ = 0;
  std::string input_;
  command::FakeFleet fleet_;
  command::TestServer server_;
  LeaderWatch watch_{fleet_};
  std::unique_ptr<Session> session_ = Connect();
};

TEST_F(SessionTest, TheAddressOfTheLeader) {
  EXPECT_EQ(SendBytes("*3\r\n$8\r\nSENTINEL\r\n$23\r\nget-master-addr-by-name\r\n$4\r\nmain\r\n"),
            "*2\r\n$13\r\nlock2.example\r\n$4\r\n3247\r\n");
  EXPECT_EQ(SendBytes("SENTINEL GET-MASTER-ADDR-BY-NAME other\r\n"), "*-1\r\n");
}

TEST_F(SessionTest, WithoutALeaderThereIsNoAddressButTheLastOneIsDown) {
  Lead("");
  EXPECT_EQ(SendBytes("SENTINEL GET-MASTER-ADDR-BY-NAME main\r\n"), "*-1\r\n");
  EXPECT_THAT(Say("SENTINEL MASTER main"),
              AllOf(HasSubstr(R"("ip" "lock2.example" "port" "3247" "runid" "")"),
                    HasSubstr(R"("flags" "s_down,o_down,master,disconnected")")));
  EXPECT_THAT(Say("INFO sentinel"),
              HasSubstr("master0:name=main,status=odown,address=lock2.example:3247,slaves=3"));
}

TEST_F(SessionTest, TheMasterHasTheFieldsOfRedisSentinel) {
  fleet_.report.leads_since_unix_ms = 1'700'000'000'000;
  const std::string runid = command::NodeId("main", "lock2");
  const std::string fields =
      R"("name" "main" "ip" "lock2.example" "port" "3247" "runid" ")" + runid +
      R"(" "flags" "master" "link-pending-commands" "0" "link-refcount" "1" "last-ping-sent" "0" )"
      R"("last-ok-ping-reply" "2500" "last-ping-reply" "2500" "down-after-milliseconds" "1000" )"
      R"("info-refresh" "2500" "role-reported" "master" "role-reported-time" "123" )"
      R"("config-epoch" "7" "num-slaves" "2" "num-other-sentinels" "1" "quorum" "1" )"
      R"("failover-timeout" "10000" "parallel-syncs" "1")";
  EXPECT_EQ(Say("SENTINEL MASTER main"), "[" + fields + "]");
  EXPECT_EQ(Say("SENTINEL MASTERS"), "[[" + fields + "]]");
  Say("HELLO 3");
  EXPECT_EQ(Say("SENTINEL MASTERS"), "[{" + fields + "}]");
  EXPECT_EQ(runid.size(), 40U);
}

TEST_F(SessionTest, StandbysAreReplicas) {
  const std::string replicas = Say("SENTINEL REPLICAS main");
  EXPECT_THAT(replicas, StartsWith(R"([["name" "lock1.example:3247" "ip" "lock1.example")"));
  EXPECT_THAT(replicas, HasSubstr(R"(["name" "10.0.0.3:3250" "ip" "10.0.0.3" "port" "3250")"));
  EXPECT_THAT(replicas, HasSubstr(R"("master-link-status" "ok" "master-host" "lock2.example")"));
  EXPECT_THAT(replicas, HasSubstr(R"("master-link-status" "err")"));
  EXPECT_THAT(replicas, Not(HasSubstr(R"("ip" "lock2.example")")));
  EXPECT_EQ(Say("SENTINEL SLAVES main"), replicas);
}

TEST_F(SessionTest, OtherNodesWithASentinelPortAreSentinels) {
  const std::string id = command::NodeId("main", "lock2");
  EXPECT_THAT(Say("SENTINEL SENTINELS main"),
              AllOf(StartsWith("[[\"name\" \"" + id + R"(" "ip" "lock2.example" "port" "3249")"),
                    Not(HasSubstr("lock1.example")), Not(HasSubstr("10.0.0.3"))));
  EXPECT_EQ(Say("SENTINEL MYID"), '"' + command::NodeId("main", "lock1") + '"');
}

TEST_F(SessionTest, AnotherNameIsUnknown) {
  for (const char* command : {"MASTER", "REPLICAS", "SLAVES", "SENTINELS", "CKQUORUM"}) {
    EXPECT_EQ(Say("SENTINEL " + std::string(command) + " other"),
              "-ERR No such master with that name");
  }
}

TEST_F(SessionTest, TheQuorumIsThatOfEtcd) {
  EXPECT_EQ(Say("SENTINEL CKQUORUM main"),
            "OK 2 usable Sentinels. Quorum and failover authorization can be reached");
  fleet_.report.error = "connection refused";
  EXPECT_EQ(Say("SENTINEL CKQUORUM main"),
            "-NOQUORUM 2 usable Sentinels. etcd does not answer: connection refused");
}

TEST_F(SessionTest, RequestsWithTheWrongShapeAreRefused) {
  EXPECT_EQ(Say("SENTINEL MASTER"), "-ERR wrong number of arguments for 'sentinel|master' command");
  EXPECT_EQ(Say("SENTINEL"), "-ERR wrong number of arguments for 'sentinel' command");
  EXPECT_THAT(Say("SENTINEL FAILOVER main"), StartsWith("-ERR unknown subcommand 'FAILOVER'"));
  EXPECT_THAT(Say("CLIENT LIST"), StartsWith("-ERR unknown subcommand 'LIST'"));
}

TEST_F(SessionTest, ThereIsNothingAboutLocks) {
  for (const char* request : {"LOCK k o", "GET k", "EVAL x 0", "MONITOR", "MULTI", "LOCKS"}) {
    EXPECT_THAT(Say(request), AllOf(StartsWith("-ERR unknown command '"),
                                    HasSubstr("this is the Sentinel port of fleet 'main'"),
                                    HasSubstr("send lock requests to lock2.example:3247")))
        << request;
  }
  EXPECT_EQ(server_.parts().locks.engine().CountLocks(0), 0U);
}

TEST_F(SessionTest, TheGreetingIsThatOfASentinel) {
  EXPECT_THAT(Say("HELLO 3"),
              AllOf(HasSubstr(R"("mode" "sentinel")"), Not(HasSubstr("role")),
                    StartsWith(R"({"server" "redis" "version" "7.2.4" "proto" 3)")));
  EXPECT_EQ(Say("ROLE"), R"(["sentinel" ["main"]])");
  EXPECT_THAT(Say("INFO"), AllOf(HasSubstr("redis_mode:sentinel\r\n"),
                                 HasSubstr("\r\n\r\n# Sentinel\r\nsentinel_masters:1\r\n"),
                                 HasSubstr("slaves=2,sentinels=2\r\n")));
  EXPECT_EQ(Say("PING"), "PONG");
  EXPECT_EQ(Say("CLIENT SETNAME app"), "OK");
  EXPECT_EQ(Say("CLIENT GETNAME"), "\"app\"");
  EXPECT_EQ(Say("COMMAND COUNT"), "13");
  EXPECT_THAT(Say("COMMAND"), StartsWith(R"([["ping" -1 [sentinel] 0 0 0 [] [] [] []])"));
}

TEST_F(SessionTest, QuitClosesAfterItsReply) {
  EXPECT_EQ(SendBytes("QUIT\r\nPING\r\n"), "+OK\r\n");
  EXPECT_TRUE(session_->is_over());
}

TEST_F(SessionTest, ASwitchOfTheLeaderIsPublished) {
  EXPECT_EQ(Say("SUBSCRIBE +switch-master"), R"(["subscribe" "+switch-master" 1])");
  EXPECT_EQ(Say("PSUBSCRIBE [-+]odown +s*"),
            "[\"psubscribe\" \"[-+]odown\" 2]\n[\"psubscribe\" \"+s*\" 3]");
  EXPECT_EQ(Say("PING"), R"(["pong" ""])");
  EXPECT_THAT(Say("INFO"), StartsWith("-ERR Can't execute 'info': only (P)SUBSCRIBE"));
  notices_ = 0;
  Lead("lock3");
  EXPECT_GT(notices_, 0);
  EXPECT_EQ(Show(session_->TakeOutput()),
            "[\"message\" \"+switch-master\" \"main lock2.example 3247 10.0.0.3 3250\"]\n"
            "[\"pmessage\" \"+s*\" \"+switch-master\" \"main lock2.example 3247 10.0.0.3 3250\"]\n"
            "[\"pmessage\" \"+s*\" \"+slave\" \"slave lock2.example:3247 lock2.example 3247 @ main "
            "10.0.0.3 3250\"]");
  EXPECT_EQ(Say("PUNSUBSCRIBE"),
            "[\"punsubscribe\" \"+s*\" 2]\n[\"punsubscribe\" \"[-+]odown\" 1]");
  EXPECT_EQ(Say("UNSUBSCRIBE +switch-master"), R"(["unsubscribe" "+switch-master" 0])");
  EXPECT_EQ(Say("UNSUBSCRIBE"), R"(["unsubscribe" nil 0])");
  EXPECT_EQ(Say("PING"), "PONG");
}

TEST_F(SessionTest, InResp3ASubscriberMayAskEverything) {
  Say("HELLO 3");
  EXPECT_EQ(Say("SUBSCRIBE +switch-master"), R"(>["subscribe" "+switch-master" 1])");
  EXPECT_EQ(Say("PING"), "PONG");
  Lead("lock1");
  EXPECT_EQ(Show(session_->TakeOutput()),
            R"(>["message" "+switch-master" "main lock2.example 3247 lock1.example 3247"])");
}

TEST_F(SessionTest, MessagesOfClientsAndLocksDoNotReachASubscriber) {
  Say("PSUBSCRIBE *");
  command::TestClient& client = server_.Connect();
  client.Say("PUBLISH +switch-master forged");
  client.Say("LOCK k o");
  EXPECT_EQ(session_->TakeOutput(), "");
}

TEST_F(SessionTest, SubscriptionsAreBounded) {
  for (std::size_t i = 0; i < Subscriptions::kNamesMax; ++i) {
    ASSERT_THAT(Say("SUBSCRIBE name" + std::to_string(i)), StartsWith("[\"subscribe\""));
  }
  EXPECT_THAT(Say("SUBSCRIBE one-more"), StartsWith("-FULL "));
  EXPECT_EQ(Say("SUBSCRIBE name7"), R"(["subscribe" "name7" 100])");
  EXPECT_THAT(Say("PSUBSCRIBE " + std::string(1025, 'x')), StartsWith("-FULL "));
}

TEST_F(SessionTest, ASubscriberThatReadsNothingIsClosed) {
  Say("PSUBSCRIBE *");
  for (int i = 0; i < 10'000 && !session_->is_killed(); ++i) {
    session_->Publish({.channel = "+slave", .text = std::string(100, 'x')});
  }
  EXPECT_TRUE(session_->is_killed());
  EXPECT_LT(session_->TakeOutput().size(), 2 * Session::kOutputBytesMax);
}

TEST_F(SessionTest, ALongRequestIsRefusedAndNothingAfterItIsRead) {
  EXPECT_THAT(SendBytes("*2\r\n$4\r\nPING\r\n$17000\r\n"), StartsWith("-ERR Protocol error"));
  EXPECT_TRUE(session_->is_over());
  EXPECT_EQ(SendBytes("PING\r\n"), "");
}

TEST_F(SessionTest, ManyRequestsTakeSeveralTurns) {
  std::string requests;
  for (int i = 0; i < 100; ++i) requests += "PING\r\n";
  EXPECT_EQ(SendBytes(requests).size(), 64 * 7U);
  EXPECT_TRUE(session_->has_more_to_execute());
  EXPECT_EQ(SendBytes("").size(), 36 * 7U);
  EXPECT_FALSE(session_->has_more_to_execute());
}

TEST_F(SessionTest, WithUsersAClientMustLogIn) {
  server_.SetUsers("user default on >secret ~* &* +@all\nuser look on >other -@all +auth");
  Reconnect();
  EXPECT_EQ(Say("SENTINEL MASTERS"), "-NOAUTH Authentication required.");
  EXPECT_EQ(Say("LOCK k o"), "-NOAUTH Authentication required.");
  EXPECT_THAT(Say("HELLO 3"), StartsWith("-NOAUTH "));
  EXPECT_THAT(Say("AUTH wrong"), StartsWith("-WRONGPASS "));
  EXPECT_EQ(Say("AUTH secret"), "OK");
  EXPECT_EQ(Say("SENTINEL GET-MASTER-ADDR-BY-NAME main"), R"(["lock2.example" "3247"])");
  Reconnect();
  EXPECT_THAT(Say("HELLO 3 AUTH look other SETNAME app"), HasSubstr(R"("mode" "sentinel")"));
  EXPECT_EQ(Say("SENTINEL GET-MASTER-ADDR-BY-NAME main"), R"(["lock2.example" "3247"])");
}

TEST_F(SessionTest, NoRequestOvertakesALogInThatTakesTime) {
  server_.SetUsers("user default on " + access::MakeSlowHash("secret") + " ~* +@all");
  Reconnect();
  EXPECT_EQ(SendBytes("AUTH secret\r\nPING\r\n"), "");
  EXPECT_TRUE(session_->has_more_to_execute());
  notices_ = 0;
  server_.CheckPasswords();
  EXPECT_GT(notices_, 0);
  EXPECT_EQ(SendBytes(""), "+OK\r\n+PONG\r\n");
}

TEST_F(SessionTest, AKilledClientIsClosed) {
  const std::string id = Say("CLIENT ID");
  EXPECT_EQ(server_.Connect().Say("CLIENT KILL ID " + id), "1");
  EXPECT_TRUE(session_->is_killed());
}

}  // namespace
}  // namespace fairlock::sentinel
