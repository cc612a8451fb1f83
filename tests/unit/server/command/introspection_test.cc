#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Command, InfoTellsArityFlagsAndKeys) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(
      client.Say("COMMAND INFO lock"),
      "[[\"lock\" -3 [write denyoom blocking fast] 1 1 1 [@lock @write @fast @blocking] [] "
      "[[\"flags\" [RW access update] "
      "\"begin_search\" [\"type\" \"index\" \"spec\" [\"index\" 1]] "
      "\"find_keys\" [\"type\" \"range\" \"spec\" [\"lastkey\" 0 \"keystep\" 1 \"limit\" 0]]]] "
      "[]]]");
  EXPECT_EQ(client.Say("COMMAND INFO ping"),
            "[[\"ping\" -1 [fast] 0 0 0 [@fast @connection] [] [] []]]");
  EXPECT_EQ(client.Say("COMMAND INFO mrenew"),
            "[[\"mrenew\" -4 [write fast movablekeys] 0 0 0 [@lock @write @fast] [] "
            "[[\"flags\" [RW access update] "
            "\"begin_search\" [\"type\" \"index\" \"spec\" [\"index\" 1]] "
            "\"find_keys\" [\"type\" \"keynum\" \"spec\" "
            "[\"keynumidx\" 0 \"firstkey\" 1 \"keystep\" 1]]]] []]]");
  EXPECT_EQ(client.Say("COMMAND INFO hello"),
            "[[\"hello\" -1 [fast no_auth noscript] 0 0 0 [@fast @connection] [] [] []]]");
  EXPECT_EQ(client.Say("COMMAND INFO nosuch CONFIG|GET"),
            "[nil [\"config|get\" -3 [admin noscript] 0 0 0 [@admin @dangerous @slow] [] [] []]]");
}

TEST(Command, InfoUsesSetsAndMapsInResp3) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("HELLO 3");
  EXPECT_EQ(
      client.Send("COMMAND INFO locked nosuch"),
      "*2\r\n*10\r\n$6\r\nlocked\r\n:-2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
      "~3\r\n+@lock\r\n+@read\r\n+@fast\r\n~0\r\n~1\r\n%3\r\n$5\r\nflags\r\n~2\r\n+RO\r\n"
      "+access\r\n$12\r\nbegin_search\r\n%2\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n"
      "%1\r\n$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n"
      "$4\r\nspec\r\n%3\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n"
      "~0\r\n_\r\n");
}

TEST(Command, AContainerHoldsItsSubcommands) {
  TestServer server;
  TestClient& client = server.Connect();
  const std::string info = client.Say("COMMAND INFO client");
  EXPECT_THAT(info, StartsWith("[[\"client\" -2 [] 0 0 0 [@slow] [] [] [[\"client|id\" 2 "));
  EXPECT_THAT(info, Not(HasSubstr("config|")));
}

TEST(Command, WithoutNamesDescribesAllWholeCommands) {
  TestServer server;
  TestClient& client = server.Connect();
  const std::string count = client.Say("COMMAND COUNT");
  for (const char* line : {"COMMAND", "COMMAND INFO"}) {
    EXPECT_THAT(client.Send(line), StartsWith("*" + count + "\r\n*10\r\n$4\r\nlock\r\n")) << line;
  }
  client.Say("HELLO 3");
  EXPECT_THAT(client.Send("COMMAND DOCS"), StartsWith("%" + count + "\r\n$4\r\nlock\r\n"));
}

TEST(Command, DocsDescribeEachArgument) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(
      client.Say("COMMAND DOCS unlock nosuch"),
      "[\"unlock\" [\"summary\" \"Releases the owner's hold and hands the lock to the next in the "
      "queue; 1 if the owner held it\" \"since\" \"0.1.0\" \"group\" \"lock\" \"complexity\" "
      "\"O(1)\" "
      "\"arguments\" ["
      "[\"name\" \"key\" \"type\" \"key\" \"display_text\" \"key\" \"key_spec_index\" 0] "
      "[\"name\" \"owner\" \"type\" \"string\" \"display_text\" \"owner\"] "
      "[\"name\" \"token\" \"type\" \"integer\" \"display_text\" \"token\" \"token\" "
      "\"TOKEN\" \"flags\" [optional]]]]]");
  EXPECT_THAT(client.Say("COMMAND DOCS config|set"),
              HasSubstr("\"arguments\" [[\"name\" \"setting\" \"type\" \"block\" \"flags\" "
                        "[multiple] \"arguments\" [[\"name\" \"setting\""));
  EXPECT_THAT(
      client.Say("COMMAND DOCS client|no-touch"),
      HasSubstr("[[\"name\" \"on-or-off\" \"type\" \"oneof\" \"arguments\" [[\"name\" "
                "\"on\" \"type\" \"pure-token\" \"display_text\" \"on\" \"token\" \"ON\"]"));
  EXPECT_EQ(client.Say("COMMAND DOCS nosuch"), "[]");
}

TEST(Command, DocsOfAContainerHoldItsSubcommands) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("HELLO 3");
  const std::string docs = client.Say("COMMAND DOCS config");
  EXPECT_THAT(docs, StartsWith("{\"config\" {\"summary\" "));
  EXPECT_THAT(docs, HasSubstr("\"subcommands\" {\"config|get\" {\"summary\" "));
}

TEST(Command, ListFilters) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("COMMAND LIST FILTERBY PATTERN CONF*"),
            R"(["config" "config|get" "config|set" "config|resetstat" "config|help"])");
  EXPECT_EQ(client.Say("COMMAND LIST FILTERBY PATTERN unlock"), R"(["unlock"])");
  EXPECT_EQ(client.Say("COMMAND LIST FILTERBY ACLCAT nosuch"), "[]");
  EXPECT_EQ(client.Say("COMMAND LIST FILTERBY MODULE any"), "[]");
  const std::string blocking = client.Say("COMMAND LIST FILTERBY ACLCAT blocking");
  EXPECT_EQ(blocking, R"(["lock" "wait" "mlock" "blpop" "brpop" "blmove" "brpoplpush" "backup"])");
  EXPECT_THAT(client.Say("COMMAND LIST"), HasSubstr("\"client|list\""));
  for (const char* line : {"COMMAND LIST x", "COMMAND LIST FILTERBY PATTERN",
                           "COMMAND LIST FILTERBY FOO x", "COMMAND LIST FILTERBY PATTERN a b"}) {
    EXPECT_EQ(client.Say(line), "-ERR syntax error") << line;
  }
}

TEST(Command, GetKeysFindsTheKeysOfARequest) {
  TestServer server;
  TestClient& client = server.Connect();
  EXPECT_EQ(client.Say("COMMAND GETKEYS LOCK order:42 worker-1 PX 1000"), R"(["order:42"])");
  EXPECT_EQ(client.Say("COMMAND GETKEYSANDFLAGS lock k w"), R"([["k" [RW access update]]])");
  EXPECT_EQ(client.Say("COMMAND GETKEYSANDFLAGS locked k"), R"([["k" [RO access]]])");
  EXPECT_EQ(client.Say("COMMAND GETKEYSANDFLAGS SET k v"), R"([["k" [OW update]]])");
  EXPECT_EQ(client.Say("COMMAND GETKEYSANDFLAGS SET k v get"), R"([["k" [RW access update]]])");
  EXPECT_EQ(client.Say("COMMAND GETKEYSANDFLAGS del k l"),
            R"([["k" [RM delete]] ["l" [RM delete]]])");
  EXPECT_EQ(client.Say("COMMAND GETKEYS mlock 2 k l w WAIT 1s"), R"(["k" "l"])");
  for (const char* line : {"COMMAND GETKEYS mlock 0 k w", "COMMAND GETKEYS mlock x k w",
                           "COMMAND GETKEYS mlock 3 k w"}) {
    EXPECT_EQ(client.Say(line), "-ERR Invalid arguments specified for command") << line;
  }
  EXPECT_EQ(client.Say("COMMAND GETKEYS nosuch a"), "-ERR Invalid command specified");
  EXPECT_EQ(client.Say("COMMAND GETKEYS client nosuch"), "-ERR Invalid command specified");
  EXPECT_EQ(client.Say("COMMAND GETKEYS ping a"), "-ERR The command has no key arguments");
  EXPECT_EQ(client.Say("COMMAND GETKEYS client kill a"), "-ERR The command has no key arguments");
  EXPECT_EQ(client.Say("COMMAND GETKEYS lock k"),
            "-ERR Invalid number of arguments specified for command");
  EXPECT_EQ(client.Say("COMMAND GETKEYS lock"),
            "-ERR wrong number of arguments for 'command|getkeys' command");
}

TEST(Command, HelpKnowsThatItCanStandAlone) {
  TestServer server;
  const std::string help = server.Connect().Say("COMMAND HELP");
  EXPECT_THAT(help, HasSubstr("Subcommands are: (no subcommand)     Describes all commands"));
  EXPECT_THAT(help, HasSubstr("INFO [command ...] "));
}

}  // namespace
}  // namespace fairlock::command
