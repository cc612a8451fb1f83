#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "server/command/server_parts.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kNoScriptReply = "-NOSCRIPT No matching script. Please use EVAL.";

class ScriptsTest : public testing::Test {
 protected:
  // Calls EVAL without keys or arguments.
  std::string Eval(std::string_view text) { return client_.Say({"EVAL", text, "0"}); }

  TestServer server_;
  TestClient& client_ = server_.Connect();
  TestClient& other_ = server_.Connect();
};

TEST_F(ScriptsTest, CallTheCommandsOfTheTable) {
  EXPECT_EQ(client_.Say({"EVAL", "return redis.call('LOCK', KEYS[1], ARGV[1], 'PX', 5000) > 0", "1",
                         "k", "me"}),
            "1");
  EXPECT_EQ(client_.Say("LOCKED k me"), "1");
  EXPECT_EQ(client_.Say({"EVAL", "return redis.call('UNLOCK', KEYS[1], ARGV[1])", "1", "k", "me"}),
            "1");
  EXPECT_EQ(client_.Say("LOCKED k"), "0");
}

// Published bytes are copied until the step ends, and what is sent then delays others.
TEST_F(ScriptsTest, PublishABoundedNumberOfBytes) {
  constexpr std::string_view kText =
      "local s, n = ('x'):rep(2^20), 0 for i = 1, 20 do "
      "if type(redis.pcall(ARGV[1], 'news', s)) == 'number' then n = n + 1 end end return n";
  for (const auto& [subscribe, publish] :
       {std::pair("SUBSCRIBE news", "PUBLISH"), std::pair("SSUBSCRIBE news", "SPUBLISH")}) {
    // Without a receiver, nothing is copied.
    EXPECT_EQ(client_.Say({"EVAL", kText, "0", publish}), "20");
    other_.Say(subscribe);
    EXPECT_EQ(client_.Say({"EVAL", kText, "0", publish}), "15");
    EXPECT_EQ(client_.Say({"EVAL", kText, "0", publish}), "15");
  }
  EXPECT_THAT(
      client_.Say(
          {"EVAL", "for i = 1, 17 do redis.call('PUBLISH', 'news', ('x'):rep(2^20)) end", "0"}),
      HasSubstr("the messages of one script or transaction have at most 16 MiB"));
}

// STATS counts its rows before it writes them, whatever the reply is sent to.
TEST_F(ScriptsTest, GetTheRowsOfStats) {
  client_.Say("LOCK k me");
  EXPECT_EQ(Eval("local stats = redis.call('STATS') return {#stats, #stats[4], stats[4][1][6]}"),
            "[4 1 1]");
}

TEST_F(ScriptsTest, MaySayWhatTheyAreInTheFirstLine) {
  EXPECT_EQ(Eval("#!lua\nreturn 1"), "1");
  EXPECT_EQ(Eval("#!lua flags=allow-stale,allow-oom  flags=no-cluster\nreturn 2"), "2");
  EXPECT_EQ(Eval("#!lua flags=\nreturn redis.call('SET', 'k', 'v')"), "OK");
  EXPECT_THAT(Eval("#!lua flags=no-writes\nreturn redis.call('SET', 'k', 'v')"),
              HasSubstr("Write commands are not allowed from read-only scripts"));
  EXPECT_EQ(Eval("#!lua flags=no-writes,x\nreturn 1"), "-ERR Unexpected flag in script shebang: x");
  EXPECT_EQ(Eval("#!python\nreturn 1"), "-ERR Unexpected engine in script shebang: #!python");
  EXPECT_EQ(Eval("#!lua name=x\nreturn 1"), "-ERR Unknown lua shebang option: name=x");
  EXPECT_EQ(Eval("#!lua"), "-ERR Invalid script shebang");
  EXPECT_THAT(Eval("#!lua\n\nerror('x')"), HasSubstr("@user_script:3"));
  EXPECT_EQ(client_.Say({"EVAL_RO", "#!lua\nreturn 1", "0"}),
            "-ERR Can not execute a script with write flag using *_ro command.");
  EXPECT_EQ(client_.Say({"EVAL_RO", "#!lua flags=no-writes\nreturn 1", "0"}), "1");
  EXPECT_EQ(client_.Say({"SCRIPT", "LOAD", "#!lua\nreturn 1"}).size(), 42U);
}

TEST_F(ScriptsTest, AreRunByTheirDigest) {
  const std::string digest = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
  EXPECT_EQ(client_.Say("EVALSHA " + digest + " 0"), kNoScriptReply);
  EXPECT_EQ(client_.Say("SCRIPT EXISTS " + digest), "[0]");
  EXPECT_EQ(client_.Say({"SCRIPT", "LOAD", "return 1"}), "\"" + digest + "\"");
  EXPECT_EQ(client_.Say("SCRIPT EXISTS " + digest + " x " + digest), "[1 0 1]");
  EXPECT_EQ(client_.Say("EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0"), "1");
  EXPECT_EQ(client_.Say("EVALSHA_RO " + digest + " 0"), "1");
  EXPECT_EQ(client_.Say("SCRIPT FLUSH"), "OK");
  EXPECT_EQ(client_.Say("EVALSHA " + digest + " 0"), kNoScriptReply);
  EXPECT_EQ(client_.Say("EVALSHA short 0"), kNoScriptReply);
}

TEST_F(ScriptsTest, FlushTakesTheWordsOfRedis) {
  EXPECT_EQ(client_.Say("SCRIPT FLUSH ASYNC"), "OK");
  EXPECT_EQ(client_.Say("SCRIPT FLUSH sync"), "OK");
  EXPECT_EQ(client_.Say("SCRIPT FLUSH NOW"), "-ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  EXPECT_EQ(client_.Say("SCRIPT FLUSH SYNC SYNC"),
            "-ERR SCRIPT FLUSH only support SYNC|ASYNC option");
}

TEST_F(ScriptsTest, ThereIsNeverOneToKill) {
  EXPECT_EQ(client_.Say("SCRIPT KILL"), "-NOTBUSY No scripts in execution right now.");
}

TEST_F(ScriptsTest, RefuseAWrongNumberOfKeys) {
  EXPECT_EQ(client_.Say("EVAL x x"), "-ERR value is not an integer or out of range");
  EXPECT_EQ(client_.Say("EVAL x -1"), "-ERR Number of keys can't be negative");
  EXPECT_EQ(client_.Say("EVAL x 2 a"), "-ERR Number of keys can't be greater than number of args");
  EXPECT_THAT(client_.Say("EVAL ( 0"), StartsWith("-ERR Error compiling script (new function): "));
}

TEST_F(ScriptsTest, GiveCommandsTheirErrorsOn) {
  EXPECT_THAT(Eval("return redis.call('NOSUCH')"),
              AllOf(StartsWith("-ERR Unknown Redis command called from script script: "),
                    HasSubstr("@user_script:1")));
  EXPECT_THAT(
      Eval("return redis.call('LOCK', 'k')"),
      StartsWith(
          "-ERR Wrong number of args calling Redis command from script; usage: LOCK key owner"));
  EXPECT_THAT(Eval("return redis.call('LOCK', 'k', 'o', 'PX', 'x')"), StartsWith("-ERR "));
}

TEST_F(ScriptsTest, MayNotCallWhatConcernsTheConnection) {
  for (const std::string_view command : {"AUTH', 'x",
                                         "HELLO",
                                         "QUIT",
                                         "RESET",
                                         "SUBSCRIBE', 'c",
                                         "PSUBSCRIBE', 'c",
                                         "UNSUBSCRIBE",
                                         "PUNSUBSCRIBE",
                                         "MONITOR",
                                         "SHUTDOWN",
                                         "CONFIG', 'GET', '*",
                                         "CLIENT', 'ID",
                                         "CLIENT', 'KILL', 'ID', '1",
                                         "EVAL', 'return 1', '0",
                                         "EVALSHA', 'x', '0",
                                         "MULTI",
                                         "EXEC",
                                         "DISCARD",
                                         "WATCH', 'k",
                                         "UNWATCH",
                                         "EVAL_RO', 'return 1', '0",
                                         "EVALSHA_RO', 'x', '0",
                                         "SCRIPT', 'FLUSH",
                                         "SCRIPT', 'LOAD', 'return 1"}) {
    EXPECT_THAT(Eval("return redis.call('" + std::string(command) + "')"),
                StartsWith("-ERR This Redis command is not allowed from script script: "))
        << command;
  }
  EXPECT_EQ(client_.Say("PING"), "PONG");
}

TEST_F(ScriptsTest, ThatOnlyReadMayNotWrite) {
  EXPECT_THAT(client_.Say({"EVAL_RO", "return redis.call('LOCK', 'k', 'o')", "0"}),
              StartsWith("-ERR Write commands are not allowed from read-only scripts."));
  EXPECT_EQ(client_.Say({"EVAL_RO", "return redis.call('LOCKED', 'k')", "0"}), "0");
  EXPECT_EQ(client_.Say("LOCKED k"), "0");
}

TEST_F(ScriptsTest, ChooseADatabaseForThemselvesOnly) {
  client_.Say("SELECT 2");
  EXPECT_EQ(Eval("redis.call('SELECT', 5) return redis.call('LOCK', 'k', 'o') > 0"), "1");
  EXPECT_EQ(client_.Say("LOCKED k"), "0");
  client_.Say("SELECT 5");
  EXPECT_EQ(client_.Say("LOCKED k"), "1");
}

TEST_F(ScriptsTest, HandOverBehindTheirEnd) {
  client_.Say("LOCK k a");
  EXPECT_EQ(other_.Say("LOCK k b WAIT 10s"), "");
  EXPECT_EQ(Eval("redis.call('UNLOCK', 'k', 'a') return redis.call('LOCKED', 'k')"), "0");
  EXPECT_NE(other_.Hear(), "");
  EXPECT_EQ(client_.Say("LOCKED k b"), "1");
}

TEST_F(ScriptsTest, DoNotPassThoseWhoWait) {
  client_.Say("LOCK k a");
  EXPECT_EQ(other_.Say("LOCK k b WAIT 10s"), "");
  EXPECT_EQ(Eval("redis.call('UNLOCK', 'k', 'a') return redis.call('LOCK', 'k', 'a')"), "nil");
  EXPECT_EQ(client_.Say("LOCKED k b"), "1");
}

TEST_F(ScriptsTest, DoNotWait) {
  other_.Say("LOCK k b");
  EXPECT_EQ(Eval("return {redis.call('LOCK', 'k', 'a', 'WAIT', 'FOREVER'), "
                 "redis.call('WAIT', 'k', 'TIMEOUT', 'FOREVER')}"),
            "[nil 0]");
  EXPECT_EQ(client_.Say("POSITION k a"), "nil");
  EXPECT_EQ(client_.Say("PING"), "PONG");
}

TEST_F(ScriptsTest, TellSubscribersBehindTheirReply) {
  other_.Say("SUBSCRIBE __lock@0__:k");
  EXPECT_EQ(Eval("redis.call('LOCK', 'k', 'o') return redis.call('UNLOCK', 'k', 'o')"), "1");
  EXPECT_THAT(other_.Hear(), AllOf(HasSubstr("granted"), HasSubstr("released")));
}

TEST_F(ScriptsTest, AreShownToMonitorsWithWhatTheyCalled) {
  other_.Say("MONITOR");
  Eval("return redis.call('LOCKED', 'k')");
  EXPECT_THAT(other_.HearBytes(), AllOf(HasSubstr("[0 lua] \"LOCKED\" \"k\""),
                                        HasSubstr("\"EVAL\" \"return redis.call(")));
}

TEST_F(ScriptsTest, ThatNeverEndAreStoppedAndOthersServed) {
  EXPECT_THAT(Eval("while true do end"), StartsWith("-ERR the script was stopped after "));
  EXPECT_EQ(other_.Say("LOCKED k"), "0");
}

TEST_F(ScriptsTest, SpeakToTheLog) {
  Eval("redis.log(redis.LOG_WARNING, 'careful')");
  EXPECT_EQ(server_.environment().script_log, "3 careful\n");
}

TEST_F(ScriptsTest, AreCountedInInfo) {
  Eval("return 1");
  Eval("return 2");
  EXPECT_THAT(client_.Say("INFO memory"), HasSubstr("number_of_cached_scripts:2"));
}

TEST_F(ScriptsTest, NameTheirKeys) {
  EXPECT_EQ(client_.Say({"COMMAND", "GETKEYS", "EVAL", "return 1", "2", "a", "b", "c"}),
            "[\"a\" \"b\"]");
  EXPECT_EQ(client_.Say({"COMMAND", "GETKEYS", "EVAL", "return 1", "0", "a"}), "[]");
  EXPECT_EQ(client_.Say({"COMMAND", "GETKEYSANDFLAGS", "EVALSHA", "x", "0", "a"}), "[]");
  EXPECT_THAT(client_.Say("COMMAND INFO eval"), HasSubstr("noscript no_mandatory_keys"));
}

TEST_F(ScriptsTest, AnswerInTheProtocolOfTheirCaller) {
  client_.Say("HELLO 3");
  EXPECT_EQ(client_.SendBytes("EVAL \"return {false, true}\" 0\r\n"), "*2\r\n_\r\n:1\r\n");
}

}  // namespace
}  // namespace fairlock::command
