// Logging in, what permissions allow, and what happens when they change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string>

#include "server/access/slow_hash.h"
#include "server/command/auth/access_rows.h"
#include "server/command/handlers/command_families.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::string_view kWrongPass =
    "-WRONGPASS invalid username-password pair or user is disabled.";
constexpr std::string_view kNoAuthError = "-NOAUTH Authentication required.";
constexpr std::string_view kRoot = "user root on >root ~* +@all\n";

class AccessTest : public testing::Test {
 protected:
  void SetUsers(std::string_view text) { server_.SetUsers(std::string(kRoot).append(text)); }

  TestClient& As(std::string_view user) {
    TestClient& client = server_.Connect();
    EXPECT_EQ(client.Say({"AUTH", user, user}), "OK");
    return client;
  }

  TestServer server_;
};

TEST_F(AccessTest, WhoHasToLogInMayDoNothingBefore) {
  SetUsers("");
  TestClient& client = server_.Connect();
  EXPECT_EQ(client.Say("PING"), kNoAuthError);
  EXPECT_EQ(client.Say("NOSUCH"), kNoAuthError);
  EXPECT_EQ(client.Say("LOCK"), kNoAuthError);
  EXPECT_EQ(client.Say("ACL WHOAMI"), kNoAuthError);
  EXPECT_THAT(client.Say("HELLO 3"), StartsWith("-NOAUTH HELLO must be called with"));
  EXPECT_EQ(client.Say("AUTH root wrong"), kWrongPass);
  EXPECT_EQ(client.Say("AUTH nobody root"), kWrongPass);
  EXPECT_EQ(client.Say("AUTH root"), kWrongPass);
  EXPECT_EQ(client.Say("AUTH root root"), "OK");
  EXPECT_EQ(client.Say("ACL WHOAMI"), "\"root\"");
  EXPECT_EQ(client.Say("RESET"), "RESET");
  EXPECT_EQ(client.Say("PING"), kNoAuthError);
  EXPECT_THAT(client.Say("HELLO 3 AUTH root root"), HasSubstr("\"proto\" 3"));
  EXPECT_EQ(client.Say("PING"), "PONG");
  EXPECT_EQ(server_.parts().statistics.counters.failed_log_ins, 3U);
  EXPECT_THAT(
      server_.environment().failed_log_ins,
      ElementsAre("127.0.0.1:50001 root", "127.0.0.1:50001 nobody", "127.0.0.1:50001 default"));
}

TEST_F(AccessTest, RequestsBeforeALogInAreSmall) {
  SetUsers("");
  TestClient& client = server_.Connect();
  EXPECT_THAT(client.SendBytes("*1\r\n$60000\r\n"), StartsWith("-ERR Protocol error"));
  EXPECT_TRUE(client.is_closed());
  TestClient& other = server_.Connect();
  // Requests after the log-in are parsed with the limits of the new user.
  const std::string large(60'000, 'x');
  EXPECT_EQ(other.SendBytes("AUTH root root\r\n*2\r\n$4\r\nECHO\r\n$60000\r\n" + large + "\r\n"),
            "+OK\r\n$60000\r\n" + large + "\r\n");
}

TEST_F(AccessTest, ADefaultUserWithAPasswordTakesOne) {
  SetUsers("user default on >pw ~* +@all");
  TestClient& client = server_.Connect();
  EXPECT_EQ(client.Say("AUTH wrong"), kWrongPass);
  EXPECT_EQ(client.Say("AUTH pw"), "OK");
  EXPECT_EQ(client.Say("LOCKED k"), "0");
}

TEST_F(AccessTest, ASlowHashIsComparedOnceAndNotByTheLoop) {
  SetUsers("user slow on " + access::MakeSlowHash("pw") + " ~* +@all");
  TestClient& first = server_.Connect();
  EXPECT_EQ(first.Say("HELLO 3 AUTH slow pw SETNAME job"), "");
  EXPECT_TRUE(first.client().wait.is_waiting());
  EXPECT_EQ(first.Say("ECHO behind"), "");
  EXPECT_EQ(As("root").Say("PING"), "PONG");
  server_.CheckPasswords();
  EXPECT_THAT(first.Hear(), testing::AllOf(HasSubstr("\"proto\" 3"), HasSubstr("\"behind\"")));
  EXPECT_EQ(first.client().profile.name, "job");
  TestClient& second = server_.Connect();
  EXPECT_EQ(second.Say("AUTH slow pw"), "OK");
  EXPECT_EQ(second.Say("AUTH slow wrong"), "");
  server_.CheckPasswords();
  EXPECT_EQ(second.Hear(), kWrongPass);
  EXPECT_EQ(second.Say("ACL WHOAMI"), "\"slow\"");
  // The server forgets which passwords it has recognised when their user is gone.
  SetUsers("user slow on " + access::MakeSlowHash("other") + " ~* +@all");
  EXPECT_EQ(server_.Connect().Say("AUTH slow pw"), "");
  server_.CheckPasswords();
}

TEST_F(AccessTest, AnUnknownUserTakesAsLongAsAWrongPassword) {
  SetUsers("user slow on " + access::MakeSlowHash("pw"));
  TestClient& client = server_.Connect();
  for (const std::string_view line : {"AUTH nobody pw", "AUTH root pw", "AUTH slow no"}) {
    EXPECT_EQ(client.Say(line), "");
    server_.CheckPasswords();
    EXPECT_EQ(client.Hear(), kWrongPass);
  }
}

TEST_F(AccessTest, AUserThatGoesMeanwhileIsNotLetIn) {
  SetUsers("user slow on " + access::MakeSlowHash("pw"));
  TestClient& client = server_.Connect();
  client.Say("AUTH slow pw");
  SetUsers("user slow off " + access::MakeSlowHash("pw"));
  server_.CheckPasswords();
  EXPECT_EQ(client.Hear(), kWrongPass);
  EXPECT_EQ(client.Say("PING"), kNoAuthError);
}

TEST_F(AccessTest, TooManyComparisonsAreRefused) {
  SetUsers("user slow on " + access::MakeSlowHash("pw"));
  server_.environment().password_checks_max = 0;
  EXPECT_THAT(server_.Connect().Say("AUTH slow pw"), StartsWith("-ERR too many passwords"));
}

TEST_F(AccessTest, WithinAStepNobodyWaitsForALogIn) {
  SetUsers("user slow on " + access::MakeSlowHash("pw"));
  TestClient& client = As("root");
  client.Say("MULTI");
  client.Say("AUTH slow pw");
  client.Say("ACL WHOAMI");
  EXPECT_THAT(client.Say("EXEC"), testing::MatchesRegex("\\[-ERR a log-in between .* \"root\"\\]"));
}

TEST_F(AccessTest, FailuresOfAnAddressAreLimited) {
  SetUsers("user slow on " + access::MakeSlowHash("pw"));
  server_.parts().log_ins.failures().set_per_minute_max(3);
  TestClient& client = server_.Connect("10.0.0.1:1");
  const auto fail = [&] {
    client.Say("AUTH root a");
    server_.CheckPasswords();
    EXPECT_EQ(client.Hear(), kWrongPass);
  };
  fail();
  // A log-in that is still in progress counts as well.
  server_.Connect("10.0.0.1:2").Say("AUTH slow a");
  server_.Connect("10.0.0.1:3").Say("AUTH slow pw");
  EXPECT_THAT(client.Say("AUTH root root"), StartsWith("-ERR too many log-ins from this address"));
  EXPECT_EQ(server_.Connect("10.0.0.2:1").Say("AUTH root root"), "OK");
  server_.CheckPasswords();
  // One of the two passwords was correct.
  EXPECT_EQ(client.Say("AUTH root root"), "OK");
  fail();
  EXPECT_THAT(client.Say("AUTH root root"), HasSubstr("try again in 20 s"));
  server_.AdvanceBy(20'000);
  EXPECT_EQ(client.Say("AUTH root root"), "OK");
}

TEST_F(AccessTest, ErrorsNameCommandKeyOwnerOrChannel) {
  SetUsers("user u on >u ~jobs:* &c owner:me-* +@lock +@connection +publish");
  TestClient& client = As("u");
  EXPECT_THAT(client.Say("LOCK jobs:1 me-1 PX 1000"), testing::MatchesRegex("[0-9]+"));
  EXPECT_EQ(client.Say("GET jobs:1"), "-NOPERM User u has no permissions to run the 'get' command");
  EXPECT_EQ(client.Say("LOCK k me-1"), "-NOPERM User u has no permissions to access the 'k' key");
  EXPECT_EQ(client.Say("LOCK jobs:1 you"),
            "-NOPERM User u has no permissions to name the 'you' owner");
  EXPECT_EQ(client.Say("TRANSFER jobs:1 me-1 you"),
            "-NOPERM User u has no permissions to name the 'you' owner");
  EXPECT_EQ(client.Say("MLOCK 2 jobs:1 k me-1"),
            "-NOPERM User u has no permissions to access the 'k' key");
  EXPECT_EQ(client.Say("PUBLISH d x"),
            "-NOPERM User u has no permissions to access the 'd' channel");
  EXPECT_EQ(client.Say("LOCK jobs:2 me-1 META NOTIFY NOTIFY d"),
            "-NOPERM User u has no permissions to access the 'd' channel");
  EXPECT_EQ(client.Say("BREAK jobs:1"),
            "-NOPERM User u has no permissions to run the 'break' command");
  EXPECT_EQ(client.Say("NOSUCH").substr(0, 20), "-ERR unknown command");
  EXPECT_EQ(server_.parts().statistics.counters.denied_requests, 8U);
}

TEST_F(AccessTest, TheWaitForReplicasNamesNoKey) {
  SetUsers("user u on >u ~jobs:* +wait\nuser n on >n ~*");
  TestClient& client = As("u");
  EXPECT_EQ(client.Say("WAIT 0 0"), "0");
  EXPECT_EQ(client.Say("WAIT 1 100"), "0");
  EXPECT_EQ(client.Say("WAIT 0 TIMEOUT 1s"),
            "-NOPERM User u has no permissions to access the '0' key");
  EXPECT_THAT(As("n").Say("WAIT 0 0"), HasSubstr("run the 'wait' command"));
}

TEST_F(AccessTest, SetWithNxIsNotUnowned) {
  SetUsers("user u on >u ~* +@all -@unowned\nuser n on >n ~* +set|nx");
  TestClient& root = As("root");
  for (const std::string_view user : {"u", "n"}) {
    TestClient& client = As(user);
    EXPECT_EQ(client.Say("SET a me PX 1000 nx"), "OK");
    EXPECT_EQ(client.Say("SET a you NX GET"), "\"me\"");
    for (const std::string_view line : {"SET a me", "SET a NX", "SET a me EX NX", "SET a me XX"}) {
      EXPECT_THAT(client.Say(line), HasSubstr("run the 'set' command")) << line;
    }
    root.Say("DEL a");
  }
}

TEST_F(AccessTest, ShardChannelsAreJudgedAsChannels) {
  SetUsers("user u on >u ~mine:* resetchannels &news:* +@all");
  TestClient& client = As("u");
  client.Say("HELLO 3");
  EXPECT_THAT(client.Say("SSUBSCRIBE news:1"), HasSubstr("ssubscribe\""));
  EXPECT_EQ(client.Say("SSUBSCRIBE news:1 other"),
            "-NOPERM User u has no permissions to access the 'other' channel");
  EXPECT_EQ(client.Say("SPUBLISH other x"),
            "-NOPERM User u has no permissions to access the 'other' channel");
  As("root").Say("SSUBSCRIBE other");
  EXPECT_EQ(client.Say("PUBSUB SHARDCHANNELS"), "[\"news:1\"]");
  SetUsers("user u on >u ~mine:* resetchannels +@all");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(AccessTest, ListsShowOnlyKeysThatTheUserMayRead) {
  SetUsers("user u on >u ~mine:* +@all");
  TestClient& root = As("root");
  root.Say("SET mine:1 a");
  root.Say("SET other:1 a");
  TestClient& client = As("u");
  EXPECT_EQ(client.Say("KEYS *"), "[\"mine:1\"]");
  EXPECT_EQ(client.Say("SCAN 0 COUNT 100"), "[\"0\" [\"mine:1\"]]");
  EXPECT_EQ(client.Say("RANDOMKEY"), "\"mine:1\"");
  EXPECT_EQ(client.Say("LOCKS COUNT 100").find("other"), std::string::npos);
  EXPECT_THAT(client.Say("LOCKS COUNT 100"), HasSubstr("mine:1"));
  for (const std::string_view line :
       {"HISTORY *", "FLUSHALL", "FLUSHDB", "LIMIT LIST", "MONITOR", "CLIENT LIST"}) {
    EXPECT_THAT(client.Say(line), HasSubstr("access the '*' key")) << line;
  }
  EXPECT_EQ(root.Say("EXISTS other:1"), "1");
}

TEST_F(AccessTest, WhatTheServerTellsOfKeysIsHeardByWhoMayReadThem) {
  SetUsers("user u on >u ~mine:* ~a? +@all");
  TestClient& client = As("u");
  client.Say("HELLO 3");
  for (const std::string_view line :
       {"SUBSCRIBE news", "SUBSCRIBE __lock@0__:mine:1", "SUBSCRIBE __keyspace@15__:ab",
        "PSUBSCRIBE n*", "PSUBSCRIBE _x*", "PSUBSCRIBE __lock@0__:mine:*",
        "PSUBSCRIBE __lock@0__:a?", "PSUBSCRIBE __keyspace@3__:mine:7"}) {
    EXPECT_THAT(client.Say(line), HasSubstr("subscribe\"")) << line;
  }
  for (const std::string_view line :
       {"SUBSCRIBE __lock@0__:other", "SUBSCRIBE __keyevent@0__:set", "SUBSCRIBE __x",
        "PSUBSCRIBE *", "PSUBSCRIBE _*", "PSUBSCRIBE ?_lock@0__:x", "PSUBSCRIBE \\\\_*",
        "PSUBSCRIBE [_]_*", "PSUBSCRIBE __*", "PSUBSCRIBE __lock@*__:mine:*",
        "PSUBSCRIBE __lock@0__:mine:?*", "PSUBSCRIBE __lock@0__:a*",
        "PSUBSCRIBE __keyevent@0__:*"}) {
    EXPECT_THAT(client.Say(line), HasSubstr("-NOPERM")) << line;
  }
  As("root").Say("SUBSCRIBE __lock@0__:other open");
  EXPECT_THAT(client.Say("PUBSUB CHANNELS *"),
              testing::AllOf(HasSubstr("open"), testing::Not(HasSubstr("other"))));
}

TEST_F(AccessTest, ADeadlockNamesNoKeysOfOthers) {
  SetUsers("user u on >u ~mine +@lock\nuser v on >v ~mine ~other +@lock");
  TestClient& v = As("v");
  v.Say("LOCK other a");
  As("v").Say("LOCK mine b");
  As("v").Say("LOCK other b WAIT 10s");
  EXPECT_EQ(As("u").Say("LOCK mine a WAIT 10s"),
            "-DEADLOCK a waits for mine held by b, b waits for ? held by a");
}

TEST_F(AccessTest, ATransactionIsJudgedTwice) {
  SetUsers("user u on >u ~* +@all");
  TestClient& client = As("u");
  client.Say("MULTI");
  EXPECT_EQ(client.Say("LOCK k me"), "QUEUED");
  EXPECT_EQ(client.Say("LOCKED k"), "QUEUED");
  SetUsers("user u on >u ~* +@all -lock");
  EXPECT_EQ(client.Say("EXEC"), "[-NOPERM User u has no permissions to run the 'lock' command 0]");
  client.Say("MULTI");
  EXPECT_THAT(client.Say("LOCK k me"), StartsWith("-NOPERM"));
  EXPECT_THAT(client.Say("EXEC"), StartsWith("-EXECABORT"));
}

TEST_F(AccessTest, ScriptsMayDoWhatTheirCallersMay) {
  SetUsers("user u on >u ~mine:* +eval +lock owner:me");
  TestClient& client = As("u");
  EXPECT_THAT(client.Say({"EVAL", "return redis.call('LOCK', 'k', 'me')", "0"}),
              HasSubstr("access the 'k' key"));
  EXPECT_THAT(client.Say({"EVAL", "return redis.call('LOCK', 'mine:1', 'you')", "0"}),
              HasSubstr("name the 'you' owner"));
  EXPECT_THAT(client.Say({"EVAL", "return redis.call('UNLOCK', 'mine:1', 'me')", "0"}),
              HasSubstr("run the 'unlock' command"));
  EXPECT_THAT(client.Say({"EVAL", "return redis.call('LOCK', 'mine:1', 'me')", "0"}),
              testing::MatchesRegex("[0-9]+"));
  EXPECT_THAT(client.Say({"EVAL", "return 1", "1", "k"}), HasSubstr("access the 'k' key"));
}

TEST_F(AccessTest, ConnectionsOfUsersThatAreGoneOrOffAreClosed) {
  SetUsers("user a on >a +@all\nuser b on >b +@all\nuser c on >c +@all");
  TestClient& a = As("a");
  TestClient& b = As("b");
  TestClient& c = As("c");
  SetUsers("user b off >b +@all\nuser c on >changed +ping");
  EXPECT_TRUE(a.is_closed());
  EXPECT_TRUE(b.is_closed());
  EXPECT_EQ(c.Say("PING"), "PONG");
  EXPECT_THAT(c.Say("ECHO x"), StartsWith("-NOPERM"));
}

TEST_F(AccessTest, WhoHearsTooMuchIsClosed) {
  SetUsers("user a on >a ~* +@all\nuser b on >b ~* +@all\nuser c on >c ~* +@all");
  TestClient& a = As("a");
  TestClient& b = As("b");
  TestClient& c = As("c");
  a.Say("SUBSCRIBE __lock@0__:k");
  b.Say("SUBSCRIBE news");
  c.Say("MONITOR");
  SetUsers("user a on >a ~j +@all\nuser b on >b ~j +@all\nuser c on >c ~* +@all -monitor");
  EXPECT_TRUE(a.is_closed());
  EXPECT_FALSE(b.is_closed());
  EXPECT_TRUE(c.is_closed());
}

TEST_F(AccessTest, AWaiterThatMayNoLongerLockLosesItsPlace) {
  SetUsers("user a on >a ~* +@all\nuser b on >b ~* +@all\nuser c on >c ~* +@all");
  TestClient& holder = As("root");
  TestClient& a = As("a");
  TestClient& b = As("b");
  TestClient& c = As("c");
  holder.Say("LOCK k holder");
  EXPECT_EQ(a.Say("LOCK k a WAIT 100s"), "");
  EXPECT_EQ(b.Say("LOCK k b WAIT 100s"), "");
  EXPECT_EQ(c.Say("LOCK k c WAIT 100s"), "");
  SetUsers("user a on >a ~* +@all -lock -mlock -set\nuser b on >b ~j +@all\nuser c on >c ~* +@all");
  EXPECT_EQ(a.Hear(), "-NOPERM User a has no permissions to run the 'lock' command");
  EXPECT_EQ(b.Hear(), "-NOPERM User b has no permissions to access the 'k' key");
  EXPECT_EQ(a.Say("PING"), "PONG");
  EXPECT_EQ(c.Hear(), "");
  holder.Say("UNLOCK k holder");
  EXPECT_THAT(c.Hear(), testing::MatchesRegex("[0-9]+"));
}

TEST_F(AccessTest, APlaceIsJudgedAsItWasAskedFor) {
  SetUsers("user a on >a ~* &* +@all\nuser b on >b ~* &* +@all");
  TestClient& holder = As("root");
  TestClient& a = As("a");
  TestClient& b = As("b");
  TestClient& ear = As("root");
  ear.Say("SUBSCRIBE done");
  holder.Say("LOCK k holder");
  EXPECT_EQ(a.Say("LOCK k a WAIT 100s"), "");
  EXPECT_EQ(b.Say("LOCK k b KEEP 60s NOTIFY done"), "nil");
  SetUsers("user a on >a ~* +@connection +set|nx\nuser b on >b ~* resetchannels +@all");
  EXPECT_EQ(a.Hear(), "-NOPERM User a has no permissions to run the 'lock' command");
  EXPECT_EQ(holder.Say("POSITION k b"), "nil");
}

TEST_F(AccessTest, WhoMayUseConnectionsMayNotEndThoseOfOthers) {
  SetUsers("user u on >u ~* +@connection\nuser v on >v ~own:* +@all");
  TestClient& holder = As("root");
  holder.Say("LOCK k holder SESSION");
  for (const std::string_view user : {"u", "v"}) {
    TestClient& client = As(user);
    EXPECT_THAT(client.Say("CLIENT KILL ID 1"), StartsWith("-NOPERM"));
    EXPECT_THAT(client.Say("CLIENT UNBLOCK 1"), StartsWith("-NOPERM"));
    EXPECT_THAT(client.Say("CLIENT ID"), testing::MatchesRegex("[0-9]+"));
  }
}

TEST_F(AccessTest, ReviewGrantsNothingToWhoComesNextInTheReview) {
  SetUsers("user a on >a ~* +@all\nuser b on >b ~* +@all");
  TestClient& holder = As("root");
  TestClient& a = As("a");
  TestClient& b = As("b");
  // `a` waits for both keys, so requests behind it on k2 are not granted.
  holder.Say("LOCK k1 holder");
  EXPECT_EQ(a.Say("MLOCK 2 k1 k2 a WAIT 100s"), "");
  EXPECT_EQ(b.Say("LOCK k2 b WAIT 100s"), "");
  SetUsers("user a on >a ~* +@all owner:x\nuser b on >b ~* +@all owner:x");
  EXPECT_EQ(a.Hear(), "-NOPERM User a has no permissions to name the 'a' owner");
  EXPECT_EQ(b.Hear(), "-NOPERM User b has no permissions to name the 'b' owner");
  EXPECT_EQ(holder.Say("LOCKED k2"), "0");
}

TEST_F(AccessTest, PlacesOfWhoIsAwayEndToo) {
  SetUsers("user a on >a ~* +@all");
  TestClient& holder = As("root");
  TestClient& a = As("a");
  holder.Say("LOCK k holder");
  EXPECT_EQ(a.Say("LOCK k a KEEP 60s"), "nil");
  a.Say("HELLO 3");
  a.Say("SUBSCRIBE done");
  EXPECT_EQ(a.Say("LOCK k b WAIT 60s NOTIFY done"), "nil");
  EXPECT_EQ(holder.Say("POSITION k b"), "2");
  SetUsers("");
  EXPECT_TRUE(a.is_closed());
  EXPECT_EQ(holder.Say("QUEUE k"), "[]");
}

TEST_F(AccessTest, AWaitForAKeyEndsToo) {
  SetUsers("user a on >a ~* +@all");
  As("root").Say("LOCK k holder");
  TestClient& a = As("a");
  EXPECT_EQ(a.Say("WAIT k TIMEOUT 100s"), "");
  SetUsers("user a on >a ~j +@all");
  EXPECT_EQ(a.Hear(), "-NOPERM User a has no permissions to access the 'k' key");
  EXPECT_EQ(a.Say("PING"), "PONG");
}

// A grant that was due before the change is treated as made before it, when it was permitted.
TEST_F(AccessTest, WhatWasDueBeforeTheChangeIsGranted) {
  SetUsers("user a on >a ~* +@all");
  TestClient& holder = As("root");
  TestClient& a = As("a");
  holder.Say("LOCK k holder PX 100");
  a.Say("LOCK k a WAIT 100s");
  server_.SkipTo(server_.now() + 200);
  SetUsers("user a on >a ~j +@all");
  EXPECT_THAT(a.Hear(), testing::MatchesRegex("[0-9]+"));
  EXPECT_EQ(holder.Say("LOCKED k a"), "1");
}

TEST_F(AccessTest, AclTellsWhoMayWhat) {
  SetUsers("user u on >u ~k owner:me +@read");
  TestClient& root = As("root");
  EXPECT_EQ(root.Say("ACL USERS"), "[\"root\" \"u\"]");
  EXPECT_THAT(root.Say("ACL LIST"),
              HasSubstr("user root on #4813494d137e1631bba301d5acab6e7bb7aa74ce"
                        "1185d456565ef51d737677b2 ~* &* owner:* +@all"));
  EXPECT_THAT(root.Say("ACL GETUSER u"),
              HasSubstr("\"commands\" \"-@all +@read\" \"keys\" \"~k\" \"channels\" \"&*\""));
  EXPECT_EQ(root.Say("ACL GETUSER nobody"), "nil");
  EXPECT_THAT(root.Say("ACL CAT"), testing::AllOf(HasSubstr("\"lock\""), HasSubstr("\"unowned\"")));
  EXPECT_THAT(root.Say("ACL CAT unowned"),
              testing::AllOf(HasSubstr("\"break\""), HasSubstr("\"set\""),
                             testing::Not(HasSubstr("set|nx"))));
  EXPECT_EQ(root.Say("ACL CAT nosuch"), "-ERR Unknown category 'nosuch'");
  EXPECT_EQ(root.Say("ACL DRYRUN u get k"), "OK");
  EXPECT_EQ(root.Say("ACL DRYRUN u get j"), "\"User u has no permissions to access the 'j' key\"");
  EXPECT_EQ(root.Say("ACL DRYRUN nobody get j"), "-ERR User 'nobody' not found");
  EXPECT_EQ(root.Say("ACL DRYRUN u nosuch"), "-ERR Command 'nosuch' not found");
  EXPECT_THAT(root.Say("ACL DRYRUN u get"), HasSubstr("wrong number of arguments"));
  EXPECT_THAT(root.Say("ACL DRYRUN u acl whoami"), HasSubstr("'acl|whoami' command"));
}

TEST_F(AccessTest, WithoutUsersNothingIsJudged) {
  TestClient& client = server_.Connect();
  EXPECT_FALSE(client.client().rights.is_limited());
  EXPECT_EQ(client.Say("ACL WHOAMI"), "\"default\"");
  EXPECT_EQ(client.Say("AUTH default anything"), "OK");
  EXPECT_THAT(server_.environment().failed_log_ins, IsEmpty());
}

TEST_F(AccessTest, ACertificateMayNameAUser) {
  SetUsers("user u on +ping\nuser off off");
  TestClient& client = server_.Connect();
  auto& inner = const_cast<Client&>(client.client());
  EXPECT_FALSE(server_.parts().sessions.LogInAs(inner, "nobody"));
  EXPECT_FALSE(server_.parts().sessions.LogInAs(inner, "off"));
  EXPECT_EQ(client.Say("PING"), kNoAuthError);
  EXPECT_TRUE(server_.parts().sessions.LogInAs(inner, "u"));
  EXPECT_EQ(client.Say("PING"), "PONG");
}

// If the server could mistake NOTIFY for a value, or overlook it behind a value, a user could wait
// on any channel.
TEST(AccessRows, NotifyIsFoundBesideEveryOptionOfTheTable) {
  const CommandTable table = WholeLanguage();
  const std::regex option("\\b([A-Z]+)( [a-z]+| FOREVER)?");
  for (const std::string_view command : {"LOCK", "MLOCK"}) {
    std::string syntax(table.Find(command)->syntax);
    syntax.erase(0, syntax.find('['));
    if (command == "MLOCK") syntax.erase(0, syntax.find("owner"));
    int values = 0;
    for (std::sregex_iterator at(syntax.begin(), syntax.end(), option), end; at != end; ++at) {
      const std::string word = (*at)[1].str();
      if (word == "NOTIFY") continue;
      const bool has_value = (*at)[2].matched;
      if (has_value) ++values;
      const std::array<std::string_view, 4> flag = {"x", word, "NOTIFY", "c"};
      const std::array<std::string_view, 5> value = {"x", word, "NOTIFY", "NOTIFY", "c"};
      EXPECT_EQ(has_value ? FindNotifyChannel(value, 1) : FindNotifyChannel(flag, 1), "c")
          << command << ' ' << word;
    }
    EXPECT_EQ(values, 11) << command;  // WAIT counts twice
  }
}

}  // namespace
}  // namespace fairlock::command
