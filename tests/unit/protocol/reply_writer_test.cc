#include "protocol/reply_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::protocol {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Written(RespVersion version, const std::function<void(ReplyWriter&)>& write) {
  std::string out;
  ReplyWriter writer(out, version);
  write(writer);
  return out;
}

struct WriterCase {
  std::function<void(ReplyWriter&)> write;
  std::string resp2;
  std::string resp3;
};

void ExpectWritten(const std::vector<WriterCase>& cases) {
  for (const WriterCase& expected : cases) {
    EXPECT_EQ(Written(RespVersion::kResp2, expected.write), expected.resp2);
    EXPECT_EQ(Written(RespVersion::kResp3, expected.write), expected.resp3);
  }
}

TEST(ReplyWriter, WritesWhatBothVersionsShare) {
  ExpectWritten({
      {[](ReplyWriter& w) { w.Ok(); }, "+OK\r\n", "+OK\r\n"},
      {[](ReplyWriter& w) { w.Simple("PONG"); }, "+PONG\r\n", "+PONG\r\n"},
      {[](ReplyWriter& w) { w.Integer(0); }, ":0\r\n", ":0\r\n"},
      {[](ReplyWriter& w) { w.Integer(-42); }, ":-42\r\n", ":-42\r\n"},
      {[](ReplyWriter& w) { w.Bulk(""); }, "$0\r\n\r\n", "$0\r\n\r\n"},
      {[](ReplyWriter& w) { w.Bulk("a\r\nb"); }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
      {[](ReplyWriter& w) { w.ArrayHeader(0); }, "*0\r\n", "*0\r\n"},
      {[](ReplyWriter& w) { w.ArrayHeader(17); }, "*17\r\n", "*17\r\n"},
      {[](ReplyWriter& w) { w.Error(ErrorCode::kFull, "no room"); }, "-FULL no room\r\n",
       "-FULL no room\r\n"},
  });
}

TEST(ReplyWriter, WritesRichTypesPlainlyInResp2) {
  ExpectWritten({
      {[](ReplyWriter& w) { w.Null(); }, "$-1\r\n", "_\r\n"},
      {[](ReplyWriter& w) { w.NullArray(); }, "*-1\r\n", "_\r\n"},
      {[](ReplyWriter& w) { w.MapHeader(3); }, "*6\r\n", "%3\r\n"},
      {[](ReplyWriter& w) { w.SetHeader(3); }, "*3\r\n", "~3\r\n"},
      {[](ReplyWriter& w) { w.PushHeader(3); }, "*3\r\n", ">3\r\n"},
      {[](ReplyWriter& w) { w.Boolean(true); }, ":1\r\n", "#t\r\n"},
      {[](ReplyWriter& w) { w.Boolean(false); }, ":0\r\n", "#f\r\n"},
      {[](ReplyWriter& w) { w.Verbatim("txt", "a: b"); }, "$4\r\na: b\r\n", "=8\r\ntxt:a: b\r\n"},
      {[](ReplyWriter& w) { w.Double(0.1); }, "$3\r\n0.1\r\n", ",0.1\r\n"},
      {[](ReplyWriter& w) { w.Double(-3); }, "$2\r\n-3\r\n", ",-3\r\n"},
      {[](ReplyWriter& w) { w.Double(1e300); }, "$6\r\n1e+300\r\n", ",1e+300\r\n"},
      {[](ReplyWriter& w) { w.Double(kInfinity); }, "$3\r\ninf\r\n", ",inf\r\n"},
      {[](ReplyWriter& w) { w.Double(-kInfinity); }, "$4\r\n-inf\r\n", ",-inf\r\n"},
      {[](ReplyWriter& w) { w.Double(-kNan); }, "$3\r\nnan\r\n", ",nan\r\n"},
  });
}

TEST(ReplyWriter, WritesTheExtremesOfIntegers) {
  const auto write = [](std::int64_t value) {
    return Written(RespVersion::kResp2, [value](ReplyWriter& w) { w.Integer(value); });
  };
  EXPECT_EQ(write(std::numeric_limits<std::int64_t>::min()), ":-9223372036854775808\r\n");
  EXPECT_EQ(write(std::numeric_limits<std::int64_t>::max()), ":9223372036854775807\r\n");
}

TEST(ReplyWriter, KeepsErrorsOnOneLine) {
  const auto write = [](std::string_view text) {
    return Written(RespVersion::kResp2, [text](ReplyWriter& w) { w.Error(ErrorCode::kErr, text); });
  };
  EXPECT_EQ(write("bad key 'a\r\n:1\r\n'"), "-ERR bad key 'a\\r\\n:1\\r\\n'\r\n");
  EXPECT_EQ(write("tab\tquote\"backslash\\"), "-ERR tab\\tquote\"backslash\\\r\n");
  EXPECT_EQ(write({"zero\0bell\a\x7f\xff", 12}), "-ERR zero\\x00bell\\x07\\x7f\\xff\r\n");
}

TEST(ReplyWriter, KeepsSimpleStringsOnOneLine) {
  EXPECT_EQ(Written(RespVersion::kResp3, [](ReplyWriter& w) { w.Simple("a\r\nb"); }),
            "+a\\r\\nb\r\n");
}

TEST(ReplyWriter, CutsEndlessErrors) {
  for (const std::string& text : {std::string(100'000, 'x'), std::string(100'000, '\xff')}) {
    const std::string line =
        Written(RespVersion::kResp2, [&text](ReplyWriter& w) { w.Error(ErrorCode::kErr, text); });
    EXPECT_LE(line.size(), kErrorTextBytesMax + 16);
    EXPECT_GE(line.size(), kErrorTextBytesMax);
    EXPECT_TRUE(line.ends_with("\r\n"));
  }
}

TEST(ReplyWriter, AppendsToWhatIsThere) {
  std::string out = "before";
  ReplyWriter writer(out, RespVersion::kResp2);
  writer.ArrayHeader(2);
  writer.Integer(7);
  writer.Null();
  EXPECT_EQ(out, "before*2\r\n:7\r\n$-1\r\n");
}

TEST(ReplyWriter, ConstantsAreWhatTheWriterWrites) {
  const auto resp2 = [](const auto& write) { return Written(RespVersion::kResp2, write); };
  EXPECT_EQ(replies::kZero, resp2([](ReplyWriter& w) { w.Integer(0); }));
  EXPECT_EQ(replies::kOne, resp2([](ReplyWriter& w) { w.Integer(1); }));
  EXPECT_EQ(replies::kOk, resp2([](ReplyWriter& w) { w.Simple("OK"); }));
  EXPECT_EQ(replies::kPong, resp2([](ReplyWriter& w) { w.Simple("PONG"); }));
  EXPECT_EQ(replies::kQueued, resp2([](ReplyWriter& w) { w.Simple("QUEUED"); }));
  EXPECT_EQ(replies::kEmptyBulk, resp2([](ReplyWriter& w) { w.Bulk(""); }));
  EXPECT_EQ(replies::kEmptyArray, resp2([](ReplyWriter& w) { w.ArrayHeader(0); }));
}

}  // namespace
}  // namespace fairlock::protocol
