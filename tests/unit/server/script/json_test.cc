#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/unit/server/script/script_test_support.h"

namespace fairlock::script {
namespace {

std::string RandomJson(std::mt19937& random, int depth) {
  const std::size_t kind = random() % (depth > 3 ? 5 : 7);
  if (kind == 0) return "null";
  if (kind == 1) return random() % 2 == 0 ? "true" : "false";
  if (kind == 2) return std::to_string(static_cast<int>(random() % 2'000'001) - 1'000'000);
  if (kind == 3) return std::to_string(random() % 1'000) + ".5";
  if (kind == 4) return random() % 2 == 0 ? R"("a\"\u0001\\b")" : "\"\"";
  std::string json = kind == 5 ? "[" : "{";
  const std::size_t count = 1 + random() % 3;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) json += ',';
    if (kind == 6) json += "\"f\":";
    json += RandomJson(random, depth + 1);
    if (kind == 6) break;  // fields have no order
  }
  return json + (kind == 5 ? "]" : "}");
}

TEST(ScriptJson, WritesWhatItHasRead) {
  ScriptStage stage;
  std::mt19937 random(1);
  for (int i = 0; i < 5'000; ++i) {
    const std::string json = RandomJson(random, 0);
    EXPECT_EQ(stage.Eval("return cjson.encode(cjson.decode(ARGV[1]))", {}, {json}),
              "$" + std::to_string(json.size()) + "\r\n" + json + "\r\n");
  }
}

TEST(ScriptJson, EndsWithAnErrorWhereverItsTextIsCut) {
  ScriptStage stage;
  const std::string json = R"({"a":[1,-2.5e3,"x\u20ac\ud83d\ude00\n",{"b":null},true,false]})";
  for (std::size_t size = 0; size < json.size(); ++size) {
    EXPECT_THAT(stage.Eval("return cjson.decode(ARGV[1])", {}, {json.substr(0, size)}),
                testing::StartsWith("-ERR user_script:1: Expected "))
        << json.substr(0, size);
  }
}

TEST(ScriptJson, ReadsNothingBehindItsText) {
  ScriptStage stage;
  for (const char* text : {"[1]x", "1 2", "nullx", "{}{}"}) {
    EXPECT_THAT(stage.Eval("return cjson.decode(ARGV[1])", {}, {text}),
                testing::HasSubstr("Expected the end but found"));
  }
}

}  // namespace
}  // namespace fairlock::script
