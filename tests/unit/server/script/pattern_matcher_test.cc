// The pattern matching of scripts, compared with that of Lua itself.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "tests/unit/server/script/original_lua.h"
#include "tests/unit/server/script/script_test_support.h"

namespace fairlock::script {
namespace {

std::string Bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string RandomText(std::mt19937& random, std::string_view alphabet, std::size_t bytes_max) {
  std::string text(random() % (bytes_max + 1), ' ');
  for (char& c : text) c = alphabet[random() % alphabet.size()];
  return text;
}

class PatternMatcherTest : public testing::Test {
 protected:
  void ExpectSame(std::string_view function, const std::string& arguments) {
    const std::string script = ShowingCall(function, arguments);
    EXPECT_EQ(stage_.Eval(script), Bulk(original_.Run(script))) << function << '(' << arguments;
  }

  ScriptStage stage_;
  OriginalLua original_;
};

TEST_F(PatternMatcherTest, FindsWhatLuaFindsInRandomTexts) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string subject = Literal(RandomText(random, "aab(). %", 12));
    const std::string pattern = Literal(RandomText(random, "aab.*+-?[]^$()%%wfb12", 9));
    ExpectSame(i % 2 == 0 ? "string.find" : "string.match", subject + ", " + pattern);
  }
}

TEST_F(PatternMatcherTest, ReadsSetsAsLuaDoes) {
  for (const char* pattern : {"[b-%%]", "[^b-%%]", "%f[b-%%]", "[b-%%]%a-"}) {
    ExpectSame("string.find", "'x]y%b', " + Literal(pattern));
  }
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::string subject = Literal(RandomText(random, "ab]%-^", 6));
    const std::string pattern = Literal("[" + RandomText(random, "aab-%%]^", 7) + "]");
    ExpectSame("string.find", subject + ", " + pattern);
  }
}

TEST_F(PatternMatcherTest, ReplacesWhatLuaReplacesInRandomTexts) {
  std::mt19937 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const std::string subject = Literal(RandomText(random, "aab().", 12));
    const std::string pattern = Literal(RandomText(random, "aab.*+-?[]^$()%w", 8));
    const std::string replacement = Literal(RandomText(random, "x%%012", 4) + "x");
    ExpectSame("string.gsub", subject + ", " + pattern + ", " + replacement);
  }
}

TEST_F(PatternMatcherTest, NothingIsTheSameAsAPosition) {
  for (const char* pattern : {"()b]%1", "()%1", "():*(ba-]%1", "()(b)%1?", "(b)()%1"}) {
    ExpectSame("string.find", "'xb]cbb', " + Literal(pattern));
    ExpectSame("string.gsub", "'xb]cbb', " + Literal(pattern) + ", '-'");
  }
}

TEST_F(PatternMatcherTest, KnowsEveryClassForEveryByte) {
  for (const char letter : std::string_view("acdlpsuwxzACDLPSUWXZ")) {
    std::string all_bytes;
    for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
    ExpectSame("string.gsub", Literal(all_bytes) + ", '%" + std::string(1, letter) + "', ''");
  }
}

TEST_F(PatternMatcherTest, RefusesPatternsThatWouldNestTooDeep) {
  const std::string reply = stage_.Eval("return string.find(('a'):rep(300), ('a?'):rep(300))");
  EXPECT_NE(reply.find("pattern too complex"), std::string::npos) << reply;
}

}  // namespace
}  // namespace fairlock::script
