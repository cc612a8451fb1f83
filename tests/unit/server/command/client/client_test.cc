#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

std::string NumberOf(const TestClient& client) { return std::to_string(client.id()); }

TEST(ClientInput, LongRepliesAreWrittenFewAtATimeAndHalfARequestBehindThemWaits) {
  TestServer server;
  TestClient& client = server.Connect();
  const std::string word(20'000, 'x');
  const std::string echo = "*2\r\n$4\r\nECHO\r\n$20000\r\n" + word + "\r\n";
  const std::string reply = "$20000\r\n" + word + "\r\n";
  // Execution would loop for ever if an incomplete request counted as executable.
  EXPECT_EQ(client.SendBytes(echo + echo + "PI"), reply + reply);
  EXPECT_EQ(client.SendBytes("NG\r\n"), "+PONG\r\n");
}

TEST(ClientCommands, IdRisesAndIsNeverUsedAgain) {
  TestServer server;
  TestClient& first = server.Connect();
  EXPECT_EQ(first.Say("CLIENT ID"), "1");
  server.Connect().Close();
  EXPECT_EQ(server.Connect().Say("CLIENT ID"), "3");
}

TEST(ClientCommands, InfoIsALineInTheFormOfRedis) {
  TestServer server;
  TestClient& client = server.Connect("127.0.0.1:41000");
  client.Say("SELECT 3");
  client.Say("CLIENT SETNAME job");
  client.Say("CLIENT SETINFO LIB-NAME redis-py");
  client.Say("CLIENT SETINFO LIB-VER 5.0.1");
  server.AdvanceBy(7'900);
  EXPECT_THAT(
      client.Say("CLIENT INFO"),
      MatchesRegex("\"id=1 addr=127.0.0.1:41000 laddr=127.0.0.1:3247 fd=8 name=job age=7 idle=0 "
                   "flags=N db=3 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=10 "
                   "multi-mem=0 rbs=[0-9]+ rbp=[0-9]+ obl=0 oll=0 omem=0 tot-mem=[0-9]+ events=r "
                   "cmd=client\\|info user=default redir=-1 resp=2 lib-name=redis-py "
                   "lib-ver=5.0.1 wait-key= waited-ms=0\n\""));
}

TEST(ClientCommands, InfoAndListAreVerbatimInResp3) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("HELLO 3");
  EXPECT_THAT(client.Send("CLIENT INFO"), MatchesRegex("=[0-9]+\r\ntxt:id=1 .* resp=3 .*\n\r\n"));
  EXPECT_THAT(client.Send("CLIENT LIST"), MatchesRegex("=[0-9]+\r\ntxt:id=1 .*\n\r\n"));
}

TEST(ClientCommands, ListShowsWhoWaitsAndForHowLongWhoIsIdle) {
  TestServer server;
  TestClient& asker = server.Connect();
  TestClient& holder = server.Connect();
  TestClient& waiter = server.Connect("/run/fairlock.sock:0");
  server.Connect();
  holder.Say("LOCK k a PX 60000");
  waiter.Say("LOCK k b WAIT FOREVER");
  server.AdvanceBy(12'000);
  const std::string list = asker.Say("CLIENT LIST");
  EXPECT_THAT(list, HasSubstr("id=2 addr=127.0.0.1:50002 "));
  EXPECT_THAT(list, HasSubstr("addr=/run/fairlock.sock:0 laddr=127.0.0.1:3247 fd=8 name= age=12 "
                              "idle=12 flags=bU db=0"));
  EXPECT_THAT(list, HasSubstr("cmd=lock "));
  EXPECT_THAT(list, HasSubstr("id=4 "));
  EXPECT_THAT(list, HasSubstr("cmd=NULL "));
}

TEST(ClientCommands, ListSaysForWhichKeyEachWaitsAndHowLong) {
  TestServer server;
  TestClient& asker = server.Connect();
  asker.Say("LOCK k holder PX 60000");
  asker.Say({"LOCK", "a key\n", "holder", "PX", "60000"});
  TestClient& waiter = server.Connect();
  waiter.Say("LOCK k b WAIT FOREVER");
  server.AdvanceBy(12'000);
  server.Connect().Say("WAIT k TIMEOUT FOREVER");
  server.Connect().Say({"LOCK", "a key\n", "b", "WAIT", "FOREVER"});
  server.Connect().Say("MLOCK 2 free k c WAIT FOREVER");
  server.AdvanceBy(3);
  EXPECT_THAT(asker.Say("CLIENT LIST ID 1"), HasSubstr(" wait-key= waited-ms=0\n"));
  EXPECT_THAT(asker.Say("CLIENT LIST ID 2"), HasSubstr(" wait-key=k waited-ms=12003\n"));
  EXPECT_THAT(asker.Say("CLIENT LIST ID 3"), HasSubstr(" wait-key=k waited-ms=3\n"));
  EXPECT_THAT(asker.Say("CLIENT LIST ID 4"), HasSubstr(" wait-key=a\\x20key\\x0a waited-ms=3\n"));
  EXPECT_THAT(asker.Say("CLIENT LIST ID 5"), HasSubstr(" wait-key=free waited-ms=3\n"));
}

TEST(ClientCommands, ListTakesATypeOrNumbers) {
  TestServer server;
  TestClient& asker = server.Connect();
  server.Connect();
  server.Connect();
  const std::string two = asker.Say("CLIENT LIST ID 3 99 1");
  EXPECT_THAT(two, MatchesRegex("\"id=3 [^\n]*\nid=1 [^\n]*\n\""));
  EXPECT_THAT(asker.Say("CLIENT LIST TYPE normal"), HasSubstr("id=2 "));
  for (const char* type : {"master", "replica", "slave", "PUBSUB"}) {
    EXPECT_EQ(asker.Say({"CLIENT", "LIST", "TYPE", type}), "\"\"") << type;
  }
  EXPECT_EQ(asker.Say("CLIENT LIST TYPE foo"), "-ERR Unknown client type 'foo'");
  EXPECT_EQ(asker.Say("CLIENT LIST ID x"), "-ERR Invalid client ID");
  for (const char* line : {"CLIENT LIST TYPE", "CLIENT LIST ID", "CLIENT LIST FOO 1",
                           "CLIENT LIST TYPE normal ID 1"}) {
    EXPECT_EQ(asker.Say(line), "-ERR syntax error") << line;
  }
}

TEST(ClientCommands, NamesHaveNoSpacesAndCanBeTakenBack) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("CLIENT GETNAME"), "nil");
  EXPECT_EQ(client.Say("CLIENT SETNAME worker-1"), "OK");
  for (const char* name : {"a b", "a\nb", "\x01", "\x7f"}) {
    EXPECT_EQ(client.Say({"CLIENT", "SETNAME", name}),
              "-ERR Client names cannot contain spaces, newlines or special characters.");
  }
  EXPECT_EQ(client.Say("CLIENT GETNAME"), "\"worker-1\"");
  EXPECT_EQ(client.Say({"CLIENT", "SETNAME", ""}), "OK");
  EXPECT_EQ(client.Say("CLIENT GETNAME"), "nil");
}

TEST(ClientCommands, NamesHaveALengthBound) {
  TestServer server;
  TestClient& client = server.Connect();
  const std::string longest(1024, 'n');
  const std::string longer(1025, 'n');
  EXPECT_EQ(client.Say("CLIENT SETNAME " + longest), "OK");
  EXPECT_EQ(client.Say("CLIENT SETNAME " + longer),
            "-ERR Client names cannot have more than 1024 bytes.");
  EXPECT_EQ(client.Say("HELLO 2 SETNAME " + longer),
            "-ERR Client names cannot have more than 1024 bytes.");
  for (const std::string attribute : {"lib-name", "lib-ver"}) {
    EXPECT_EQ(client.Say("CLIENT SETINFO " + attribute + " " + longest), "OK");
    EXPECT_EQ(client.Say("CLIENT SETINFO " + attribute + " " + longer),
              "-ERR " + attribute + " cannot have more than 1024 bytes.");
  }
  EXPECT_EQ(client.Say("CLIENT GETNAME"), '"' + longest + '"');
}

TEST(ClientCommands, TheNameIsShownWithWhatTheClientHolds) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("CLIENT SETNAME worker-1");
  client.Say("LOCK k a");
  EXPECT_THAT(client.Say("LOCKINFO k"), HasSubstr("\"worker-1\""));
}

TEST(ClientCommands, SetInfoTakesOnlyTheLibrary) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("client setinfo lib-name jedis"), "OK");
  EXPECT_EQ(client.Say("CLIENT SETINFO LIB-COLOR red"), "-ERR Unrecognized option 'LIB-COLOR'");
  EXPECT_EQ(client.Say("CLIENT SETINFO lib-ver \"1 2\""),
            "-ERR lib-ver cannot contain spaces, newlines or special characters.");
  EXPECT_THAT(client.Say("CLIENT INFO"), HasSubstr("lib-name=jedis lib-ver= wait-key="));
}

TEST(ClientKill, ByAddressClosesThatConnection) {
  TestServer server;
  TestClient& asker = server.Connect();
  TestClient& victim = server.Connect("127.0.0.1:41000");
  EXPECT_EQ(asker.Say("CLIENT KILL 127.0.0.1:41000"), "OK");
  EXPECT_TRUE(victim.is_closed());
  EXPECT_FALSE(asker.is_closed());
  EXPECT_EQ(asker.Say("CLIENT KILL 127.0.0.1:41000"), "-ERR No such client");
}

TEST(ClientKill, OfOneselfAnswersFirst) {
  TestServer server;
  TestClient& by_address = server.Connect("127.0.0.1:41000");
  EXPECT_EQ(by_address.SendBytes("CLIENT KILL 127.0.0.1:41000\r\nPING\r\n"), "+OK\r\n");
  EXPECT_TRUE(by_address.is_closed());
  TestClient& by_number = server.Connect();
  EXPECT_EQ(by_number.Say({"CLIENT", "KILL", "ID", NumberOf(by_number)}), "0");
  EXPECT_FALSE(by_number.is_closed());
  EXPECT_EQ(by_number.Say({"CLIENT", "KILL", "ID", NumberOf(by_number), "SKIPME", "no"}), "1");
  EXPECT_TRUE(by_number.is_closed());
}

TEST(ClientKill, FiltersMustAllAgree) {
  TestServer server;
  TestClient& old = server.Connect("127.0.0.1:41000");
  server.AdvanceBy(10'000);
  TestClient& asker = server.Connect("127.0.0.1:41001");
  EXPECT_EQ(asker.Say("CLIENT KILL ADDR 127.0.0.1:41000 TYPE pubsub"), "0");
  EXPECT_EQ(asker.Say("CLIENT KILL LADDR 127.0.0.1:1"), "0");
  EXPECT_EQ(asker.Say("CLIENT KILL MAXAGE 11 SKIPME no"), "0");
  EXPECT_FALSE(old.is_closed());
  EXPECT_EQ(asker.Say("CLIENT KILL TYPE normal USER default LADDR 127.0.0.1:3247 MAXAGE 10"), "1");
  EXPECT_TRUE(old.is_closed());
  EXPECT_FALSE(asker.is_closed());
}

TEST(ClientKill, OfAWaiterTakesItOutOfTheLine) {
  TestServer server;
  TestClient& holder = server.Connect();
  TestClient& killed = server.Connect();
  TestClient& next = server.Connect();
  holder.Say("LOCK k a");
  killed.Say("LOCK k b WAIT FOREVER");
  next.Say("LOCK k c WAIT FOREVER");
  // Both commands run in one turn, so the connection is not closed yet when the lock becomes free.
  EXPECT_EQ(holder.Say("CLIENT KILL ID " + NumberOf(killed) + "\r\nUNLOCK k a"), "1\n1");
  EXPECT_TRUE(killed.is_closed());
  EXPECT_EQ(next.Hear(), "2");
}

TEST(ClientKill, RefusesInTheWordsOfRedis) {
  TestServer server;
  TestClient& client = server.Connect();
  for (const char* id : {"0", "-1", "x"}) {
    EXPECT_EQ(client.Say({"CLIENT", "KILL", "ID", id}), "-ERR client-id should be greater than 0");
  }
  EXPECT_EQ(client.Say("CLIENT KILL TYPE foo"), "-ERR Unknown client type 'foo'");
  EXPECT_EQ(client.Say("CLIENT KILL USER nobody"), "-ERR No such user 'nobody'");
  EXPECT_EQ(client.Say("CLIENT KILL MAXAGE x"), "-ERR maxage is not an integer or out of range");
  EXPECT_EQ(client.Say("CLIENT KILL MAXAGE 0"), "-ERR maxage should be greater than 0");
  EXPECT_EQ(client.Say("CLIENT KILL SKIPME maybe"), "-ERR syntax error");
  EXPECT_EQ(client.Say("CLIENT KILL FOO 1"), "-ERR syntax error");
  EXPECT_EQ(client.Say("CLIENT KILL ID 1 ADDR"), "-ERR syntax error");
}

TEST(ClientUnblock, EndsAWaitAsAtItsTimeOut) {
  TestServer server;
  TestClient& holder = server.Connect();
  TestClient& waiter = server.Connect();
  TestClient& watcher = server.Connect();
  holder.Say("LOCK k a");
  waiter.Say("LOCK k b WAIT FOREVER");
  watcher.Say("WAIT k TIMEOUT FOREVER");
  EXPECT_EQ(holder.Say({"CLIENT", "UNBLOCK", NumberOf(waiter)}), "1");
  EXPECT_EQ(waiter.Hear(), "nil");
  EXPECT_EQ(holder.Say({"CLIENT", "UNBLOCK", NumberOf(watcher), "timeout"}), "1");
  EXPECT_EQ(watcher.Hear(), "0");
  EXPECT_EQ(holder.Say("QUEUE k"), "[]");
  EXPECT_EQ(waiter.Say("PING"), "PONG");
  server.parts().locks.engine().CheckInvariants();
}

TEST(ClientUnblock, EndsAWaitWithAnError) {
  TestServer server;
  TestClient& holder = server.Connect();
  TestClient& waiter = server.Connect();
  holder.Say("LOCK k a");
  waiter.Say("LOCK k b WAIT FOREVER EXPLAIN");
  EXPECT_EQ(holder.Say({"CLIENT", "UNBLOCK", NumberOf(waiter), "ERROR"}), "1");
  EXPECT_EQ(waiter.Hear(), "-UNBLOCKED client unblocked via CLIENT UNBLOCK");
  waiter.Say("LOCK k b WAIT 1000");
  server.AdvanceBy(1000);
  EXPECT_EQ(waiter.Hear(), "nil");
}

TEST(ClientUnblock, LeavesAloneWhoDoesNotWait) {
  TestServer server;
  TestClient& asker = server.Connect();
  TestClient& other = server.Connect();
  EXPECT_EQ(asker.Say({"CLIENT", "UNBLOCK", NumberOf(other)}), "0");
  EXPECT_EQ(asker.Say({"CLIENT", "UNBLOCK", NumberOf(asker)}), "0");
  EXPECT_EQ(asker.Say("CLIENT UNBLOCK 99"), "0");
  EXPECT_EQ(asker.Say("CLIENT UNBLOCK x"), "-ERR value is not an integer or out of range");
  EXPECT_EQ(asker.Say("CLIENT UNBLOCK 1 GENTLY"),
            "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
  EXPECT_EQ(asker.Say("CLIENT UNBLOCK 1 ERROR x"), "-ERR syntax error");
}

TEST(ClientUnblock, DoesNotTakeAwayWhatTheWaiterHasJustGot) {
  TestServer server;
  TestClient& holder = server.Connect();
  TestClient& waiter = server.Connect();
  holder.Say("LOCK k a PX 1000");
  waiter.Say("LOCK k b PX 1000 WAIT FOREVER");
  // The lease ends in the same turn as the command, before the timers are checked.
  server.SkipTo(server.now() + 1001);
  EXPECT_EQ(holder.Say({"CLIENT", "UNBLOCK", NumberOf(waiter), "ERROR"}), "1");
  EXPECT_EQ(waiter.Hear(), "2");
  EXPECT_EQ(waiter.Say("LOCKED k b"), "1");
}

TEST(ClientCommands, NoEvictAndNoTouchAreAccepted) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("CLIENT NO-EVICT on"), "OK");
  EXPECT_EQ(client.Say("CLIENT NO-TOUCH OFF"), "OK");
  EXPECT_EQ(client.Say("CLIENT NO-TOUCH maybe"), "-ERR syntax error");
}

TEST(ClientCommands, HelpComesFromTheTable) {
  TestServer server;
  TestClient& client = server.Connect();
  const std::string help = client.Say("CLIENT HELP");
  EXPECT_THAT(help, HasSubstr("[CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are: "));
  EXPECT_THAT(help, HasSubstr("SETNAME name     Names this connection"));
  EXPECT_THAT(help, HasSubstr("HELP     Lists the subcommands.]"));
  EXPECT_THAT(help, Not(HasSubstr("CLIENT|")));
}

}  // namespace
}  // namespace fairlock::command
