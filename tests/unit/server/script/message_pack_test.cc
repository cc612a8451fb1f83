#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/unit/server/script/script_test_support.h"

namespace fairlock::script {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kPacked =
    "return cmsgpack.pack({1, -1, 300, 1.5, 'text', {key = {true, false}}, string.rep('x', 300)})";

std::string BytesOf(const std::string& reply) {
  const std::size_t begin = reply.find("\r\n") + 2;
  return reply.substr(begin, reply.size() - begin - 2);
}

TEST(ScriptMessagePack, EndsWithAnErrorWhereverItsBytesAreCut) {
  ScriptStage stage;
  const std::string packed = BytesOf(stage.Eval(kPacked));
  ASSERT_GT(packed.size(), 300U);
  for (std::size_t bytes = 1; bytes < packed.size(); ++bytes) {
    EXPECT_THAT(stage.Eval("return cmsgpack.unpack(ARGV[1])", {}, {packed.substr(0, bytes)}),
                HasSubstr("Missing bytes in input."));
  }
  EXPECT_EQ(stage.Eval("return cmsgpack.pack(cmsgpack.unpack(ARGV[1])) == ARGV[1] and 1 or 0", {},
                       {packed}),
            ":1\r\n");
}

TEST(ScriptMessagePack, SurvivesAnyBytes) {
  ScriptStage stage;
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::string reply =
        stage.Eval("local ok, value = pcall(cmsgpack.unpack_one, ARGV[1]) return ok and 1 or value",
                   {}, {bytes});
    EXPECT_TRUE(reply == ":1\r\n" || reply.find("in input.") != std::string::npos ||
                reply.find("index is") != std::string::npos)
        << reply;
  }
}

TEST(ScriptMessagePack, ItsWorkIsCounted) {
  ScriptStage stage({.time_max_ms = 60'000});
  EXPECT_THAT(stage.Eval("local t = {} for i = 1, 1000 do t[i] = i end "
                         "while true do cmsgpack.unpack(cmsgpack.pack(t)) end"),
              StartsWith("-"));
  EXPECT_THAT(stage.Eval("local text = string.rep('x', 1000000) "
                         "local t = {} for i = 1, 1000 do t[i] = text end "
                         "return #cmsgpack.pack(t)"),
              HasSubstr("not enough memory"));
}

TEST(ScriptStruct, ItsWorkIsCounted) {
  ScriptStage stage({.time_max_ms = 60'000});
  EXPECT_THAT(stage.Eval("while true do struct.size(string.rep('i', 1000)) end"), StartsWith("-"));
  EXPECT_THAT(stage.Eval("local text = string.rep('x', 1000000) "
                         "return #struct.pack(string.rep('c0', 100), unpack((function() "
                         "local t = {} for i = 1, 100 do t[i] = text end return t end)()))"),
              HasSubstr("not enough memory"));
  // Returns one value for each byte of the format, up to Lua's own limit.
  EXPECT_THAT(stage.Eval("return select('#', struct.unpack(string.rep('b', 100000), "
                         "string.rep('x', 100000)))"),
              HasSubstr("too many results"));
}

TEST(ScriptBit, AnyNumberOfDigits) {
  ScriptStage stage;
  EXPECT_EQ(stage.Eval("return bit.tohex(255, 2147483648)"), "$8\r\n000000FF\r\n");
  EXPECT_EQ(stage.Eval("return bit.tohex(255, 0)"), "$0\r\n\r\n");
}

}  // namespace
}  // namespace fairlock::script
