#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

TEST(ConnectionCommands, PingAnswersPongOrItsMessage) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Send("PING"), "+PONG\r\n");
  EXPECT_EQ(client.Send("ping hi"), "$2\r\nhi\r\n");
  EXPECT_EQ(client.Send("PING a b"), "-ERR wrong number of arguments for 'ping' command\r\n");
}

TEST(ConnectionCommands, EchoAnswersAnyBytes) {
  TestServer server;
  TestClient& client = server.Connect();
  const std::string_view bytes("a\0\r\n\xff", 5);
  EXPECT_EQ(client.Say({"ECHO", bytes}), '"' + std::string(bytes) + '"');
}

TEST(ConnectionCommands, HelloTellsWhatTheServerIsAndChoosesTheProtocol) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(
      client.Send("HELLO"),
      "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.2.4\r\n$5\r\nproto\r\n"
      ":2\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
      "$7\r\nmodules\r\n*0\r\n");
  EXPECT_EQ(client.Send("HELLO 3").substr(0, 4), "%7\r\n");
  EXPECT_EQ(client.Send("CLIENT GETNAME"), "_\r\n");
  EXPECT_EQ(client.Say("HELLO"),
            "{\"server\" \"redis\" \"version\" \"7.2.4\" \"proto\" 3 \"id\" 1 "
            "\"mode\" \"standalone\" \"role\" \"master\" \"modules\" []}");
  EXPECT_EQ(client.Send("HELLO 2").substr(0, 5), "*14\r\n");
  EXPECT_EQ(client.Send("CLIENT GETNAME"), "$-1\r\n");
}

TEST(ConnectionCommands, HelloNamesAndAuthenticates) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("HELLO 3 AUTH default whatever SETNAME job-7");
  EXPECT_EQ(client.Say("CLIENT GETNAME"), "\"job-7\"");
  EXPECT_EQ(client.Say("HELLO 2 AUTH nobody x SETNAME other"),
            "-WRONGPASS invalid username-password pair or user is disabled.");
  EXPECT_EQ(client.Say("CLIENT GETNAME"), "\"job-7\"");
  EXPECT_EQ(client.client().profile.version, protocol::RespVersion::kResp3);
}

TEST(ConnectionCommands, HelloRefusesInTheWordsOfRedisAndChangesNothing) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("HELLO 1"), "-NOPROTO unsupported protocol version");
  EXPECT_EQ(client.Say("HELLO 4"), "-NOPROTO unsupported protocol version");
  EXPECT_EQ(client.Say("HELLO x"), "-ERR Protocol version is not an integer or out of range");
  EXPECT_EQ(client.Say("HELLO 3 FOO"), "-ERR Syntax error in HELLO option 'FOO'");
  EXPECT_EQ(client.Say("HELLO 3 AUTH default"), "-ERR Syntax error in HELLO option 'AUTH'");
  EXPECT_EQ(client.Say("HELLO 3 SETNAME"), "-ERR Syntax error in HELLO option 'SETNAME'");
  EXPECT_EQ(client.Say("HELLO 3 SETNAME \"a b\""),
            "-ERR Client names cannot contain spaces, newlines or special characters.");
  EXPECT_EQ(client.client().profile.version, protocol::RespVersion::kResp2);
}

TEST(ConnectionCommands, AuthKnowsTheOneUserWithoutPassword) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("AUTH default anything"), "OK");
  EXPECT_EQ(client.Say("AUTH nobody x"),
            "-WRONGPASS invalid username-password pair or user is disabled.");
  EXPECT_EQ(client.Say("AUTH secret"),
            "-ERR AUTH <password> called without any password configured for the default user. "
            "Are you sure your configuration is correct?");
  EXPECT_EQ(client.Say("AUTH a b c"), "-ERR syntax error");
}

TEST(ConnectionCommands, QuitAnswersThenCloses) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.SendBytes("PING\r\nQUIT\r\nPING\r\n"), "+PONG\r\n+OK\r\n");
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(server.parts().clients.size(), 0U);
}

TEST(ConnectionCommands, ResetMakesTheConnectionAsNew) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("HELLO 3 SETNAME job");
  client.Say("SELECT 3");
  EXPECT_EQ(client.Send("RESET"), "+RESET\r\n");
  EXPECT_EQ(client.Send("CLIENT GETNAME"), "$-1\r\n");
  EXPECT_EQ(client.client().profile.database, 0);
}

TEST(ConnectionCommands, SelectChoosesOneOfSixteenNameSpaces) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("LOCK k in-0");
  EXPECT_EQ(client.Say("SELECT 15"), "OK");
  EXPECT_EQ(client.Say("LOCKED k"), "0");
  EXPECT_EQ(client.Say("SELECT 16"), "-ERR DB index is out of range");
  EXPECT_EQ(client.Say("SELECT -1"), "-ERR DB index is out of range");
  EXPECT_EQ(client.Say("SELECT one"), "-ERR value is not an integer or out of range");
  EXPECT_EQ(client.Say("SELECT 99999999999"),
            "-ERR value is out of range, value must between -2147483648 and 2147483647");
  EXPECT_EQ(client.client().profile.database, 15);
  EXPECT_EQ(client.Say("SELECT 0"), "OK");
  EXPECT_EQ(client.Say("LOCKED k"), "1");
}

TEST(ConnectionCommands, UnknownCommandsAreRefusedAsByRedis) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Send("NOSUCH"), "-ERR unknown command 'NOSUCH', with args beginning with: \r\n");
  EXPECT_EQ(client.Send("nosuch a b"),
            "-ERR unknown command 'nosuch', with args beginning with: 'a' 'b' \r\n");
  EXPECT_EQ(client.Say("CLIENT"), "-ERR wrong number of arguments for 'client' command");
  EXPECT_EQ(client.Say("client foo"), "-ERR unknown subcommand 'foo'. Try CLIENT HELP.");
  EXPECT_EQ(client.Say("CLIENT ID x"), "-ERR wrong number of arguments for 'client|id' command");
}

}  // namespace
}  // namespace fairlock::command
