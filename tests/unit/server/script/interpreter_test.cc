#include "server/script/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/script/script_test_support.h"

namespace fairlock::script {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kCompareAndDelete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

TEST(Interpreter, ComparesAndDeletes) {
  ScriptStage stage;
  stage.host.keys["k"] = "mine";
  EXPECT_EQ(stage.Eval(kCompareAndDelete, {"k"}, {"other"}), ":0\r\n");
  EXPECT_EQ(stage.Eval(kCompareAndDelete, {"k"}, {"mine"}), ":1\r\n");
  EXPECT_TRUE(stage.host.keys.empty());
  EXPECT_EQ(stage.Eval(kCompareAndDelete, {"k"}, {"mine"}), ":0\r\n");
}

TEST(Interpreter, AnswersInTheVersionOfTheCaller) {
  ScriptStage stage;
  EXPECT_EQ(stage.EvalResp3("return false"), "_\r\n");
  EXPECT_EQ(stage.EvalResp3("return true"), ":1\r\n");
  EXPECT_EQ(stage.EvalResp3("return {redis.call('GET', 'none'), 1}"), "*2\r\n_\r\n:1\r\n");
}

TEST(Interpreter, GivesCommandsEveryDigitOfANumber) {
  ScriptStage stage;
  stage.Eval("redis.call('SET', KEYS[1], 1795223276923)", {"k"});
  EXPECT_EQ(stage.host.keys["k"], "1795223276923");
  stage.Eval("redis.call('SET', KEYS[1], 9007199254740992)", {"k"});
  EXPECT_EQ(stage.host.keys["k"], "9007199254740992");
}

TEST(Interpreter, TellsTheHostThatTheScriptOnlyReads) {
  ScriptStage stage;
  EXPECT_THAT(stage.EvalReadOnly("return redis.call('SET', 'k', 'v')"),
              StartsWith("-ERR Write commands are not allowed from read-only scripts."));
  EXPECT_EQ(stage.EvalReadOnly("return redis.call('EXISTS', 'k')"), ":0\r\n");
}

TEST(Interpreter, GivesTheErrorOfACommandOnWithItsFirstWord) {
  ScriptStage stage;
  stage.host.keys["k"] = "text";
  EXPECT_THAT(stage.Eval("return redis.call('INCRBY', 'k', 1)"),
              StartsWith("-ERR value is not an integer or out of range script: "));
  EXPECT_EQ(stage.Eval("return redis.pcall('INCRBY', 'k', 1)"),
            "-ERR value is not an integer or out of range\r\n");
}

TEST(Interpreter, NamesTheLineOfAnError) {
  ScriptStage stage;
  EXPECT_THAT(stage.Eval("local x\n\nreturn x.y"), EndsWith(", on @user_script:3.\r\n"));
  EXPECT_THAT(stage.Eval("return 1 +"), HasSubstr("user_script:1: unexpected symbol"));
}

TEST(Interpreter, KeepsErrorsOnOneLine) {
  ScriptStage stage;
  EXPECT_EQ(stage.Eval("return {err = 'A b\\r\\n+OK'}"), "-A b  +OK\r\n");
  EXPECT_EQ(stage.Eval("return {ok = 'a\\r\\n-ERR'}"), "+a  -ERR\r\n");
}

TEST(Interpreter, GivesLinesToTheLog) {
  ScriptStage stage;
  stage.Eval("redis.log(redis.LOG_WARNING, 'a', 1)");
  ASSERT_EQ(stage.host.log.size(), 1U);
  EXPECT_EQ(stage.host.log[0].level, LogLevel::kWarning);
  EXPECT_EQ(stage.host.log[0].text, "a 1");
}

TEST(Interpreter, FindsAScriptByTheDigestOfItsText) {
  Interpreter interpreter;
  KeyHost host;
  const LoadResult loaded = interpreter.Load("return 1", host);
  ASSERT_NE(loaded.script, nullptr);
  EXPECT_EQ(HexOf(loaded.script->digest), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  EXPECT_EQ(interpreter.Find(loaded.script->digest), loaded.script);
  EXPECT_EQ(interpreter.Load("return 1", host).script, loaded.script);
  EXPECT_EQ(interpreter.script_count(), 1U);
  EXPECT_EQ(interpreter.Find(DigestOf("return 2")), nullptr);
}

TEST(Interpreter, KeepsNoTextThatDoesNotCompile) {
  Interpreter interpreter;
  KeyHost host;
  const LoadResult loaded = interpreter.Load("return (", host);
  EXPECT_EQ(loaded.script, nullptr);
  EXPECT_THAT(loaded.error, StartsWith("Error compiling script (new function): user_script:1:"));
  EXPECT_EQ(interpreter.script_count(), 0U);
}

TEST(Interpreter, ForgetsTheScriptLongestNotUsed) {
  ScriptStage stage({.cached_scripts_max = 2});
  stage.Eval("return 1");
  stage.Eval("return 2");
  stage.Eval("return 1");
  stage.Eval("return 3");
  EXPECT_NE(stage.interpreter.Find(DigestOf("return 1")), nullptr);
  EXPECT_EQ(stage.interpreter.Find(DigestOf("return 2")), nullptr);
  EXPECT_NE(stage.interpreter.Find(DigestOf("return 3")), nullptr);
}

TEST(Interpreter, BoundsTheTextsThatItKeeps) {
  ScriptStage stage({.cached_bytes_max = 10'000});
  for (int i = 0; i < 1'000; ++i) stage.Eval("return " + std::to_string(i));
  EXPECT_LE(stage.interpreter.text_bytes(), 10'000U);
  EXPECT_GT(stage.interpreter.script_count(), 500U);
  stage.interpreter.set_limits({.cached_scripts_max = 3});
  EXPECT_EQ(stage.interpreter.script_count(), 3U);
}

TEST(Interpreter, TakesNoMoreMemoryForEverNewScripts) {
  ScriptStage stage({.cached_scripts_max = 10});
  for (int i = 0; i < 1'000; ++i) stage.Eval("return " + std::to_string(i));
  const std::size_t before_bytes = stage.interpreter.memory_bytes();
  for (int i = 1'000; i < 20'000; ++i) stage.Eval("return " + std::to_string(i));
  EXPECT_LT(stage.interpreter.memory_bytes(), 2 * before_bytes);
}

TEST(Interpreter, KnowsNothingAfterAFlush) {
  ScriptStage stage;
  stage.Eval("return 1");
  stage.interpreter.Flush();
  EXPECT_EQ(stage.interpreter.script_count(), 0U);
  EXPECT_EQ(stage.interpreter.text_bytes(), 0U);
  EXPECT_EQ(stage.Eval("return 1"), ":1\r\n");
}

TEST(Digest, IsTheSha1InHexadecimalDigits) {
  EXPECT_EQ(HexOf(DigestOf("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(HexOf(DigestOf(std::string(1'000'000, 'a'))),
            "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  EXPECT_EQ(ParseDigest("DA39A3EE5e6b4b0d3255bfef95601890afd80709"), DigestOf(""));
  EXPECT_EQ(ParseDigest("da39a3ee5e6b4b0d3255bfef95601890afd8070"), std::nullopt);
  EXPECT_EQ(ParseDigest("da39a3ee5e6b4b0d3255bfef95601890afd8070g"), std::nullopt);
}

}  // namespace
}  // namespace fairlock::script
