#include "protocol/reply_parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::protocol {
namespace {

Reply Text(ReplyType type, std::string text) { return {.type = type, .text = std::move(text)}; }
Reply Bulk(std::string text) { return Text(ReplyType::kBulk, std::move(text)); }
Reply Integer(std::int64_t value) { return {.type = ReplyType::kInteger, .integer = value}; }
Reply Double(double value) { return {.type = ReplyType::kDouble, .number = value}; }
Reply Boolean(bool value) { return {.type = ReplyType::kBoolean, .integer = value ? 1 : 0}; }
Reply Tree(ReplyType type, std::vector<Reply> elements) {
  return {.type = type, .elements = std::move(elements)};
}

struct Parsed {
  ReplyStatus status = ReplyStatus::kNeedMore;
  Reply reply = {};
  std::size_t consumed = 0;
  std::string error = {};
};

Parsed ParseReply(std::string_view bytes, const ReplyLimits& limits = {}) {
  ReplyParser parser(limits);
  Parsed parsed;
  parsed.status = parser.Parse(bytes, parsed.reply, parsed.consumed);
  parsed.error = parser.error();
  return parsed;
}

struct ReplyCase {
  std::string bytes;
  Reply reply;
};

std::vector<ReplyCase> Replies() {
  const double infinity = std::numeric_limits<double>::infinity();
  const Reply verbatim = {.type = ReplyType::kVerbatim, .format = {'t', 'x', 't'}, .text = "a:b"};
  return {
      {"+OK\r\n", Text(ReplyType::kSimple, "OK")},
      {"+\r\n", Text(ReplyType::kSimple, "")},
      {"-ERR no\r\n", Text(ReplyType::kError, "ERR no")},
      {"!6\r\nERR\r\n1\r\n", Text(ReplyType::kError, "ERR\r\n1")},
      {":0\r\n", Integer(0)},
      {":+7\r\n", Integer(7)},
      {":-9223372036854775808\r\n", Integer(std::numeric_limits<std::int64_t>::min())},
      {"$0\r\n\r\n", Bulk("")},
      {"$4\r\na\r\nb\r\n", Bulk("a\r\nb")},
      {"$-1\r\n", Reply{}},
      {"*-1\r\n", Reply{}},
      {"_\r\n", Reply{}},
      {",1.5\r\n", Double(1.5)},
      {",+2e3\r\n", Double(2000)},
      {",inf\r\n", Double(infinity)},
      {",-inf\r\n", Double(-infinity)},
      {"#t\r\n", Boolean(true)},
      {"#f\r\n", Boolean(false)},
      {"(-123456789012345678901234567890\r\n",
       Text(ReplyType::kBigNumber, "-123456789012345678901234567890")},
      {"=7\r\ntxt:a:b\r\n", verbatim},
      {"*0\r\n", Tree(ReplyType::kArray, {})},
      {"*3\r\n:1\r\n*2\r\n$1\r\na\r\n_\r\n+x\r\n",
       Tree(ReplyType::kArray, {Integer(1), Tree(ReplyType::kArray, {Bulk("a"), Reply{}}),
                                Text(ReplyType::kSimple, "x")})},
      {"%2\r\n+a\r\n:1\r\n+b\r\n*0\r\n",
       Tree(ReplyType::kMap, {Text(ReplyType::kSimple, "a"), Integer(1),
                              Text(ReplyType::kSimple, "b"), Tree(ReplyType::kArray, {})})},
      {"%0\r\n", Tree(ReplyType::kMap, {})},
      {"~2\r\n:1\r\n:2\r\n", Tree(ReplyType::kSet, {Integer(1), Integer(2)})},
      {">2\r\n$7\r\nmessage\r\n$1\r\nx\r\n", Tree(ReplyType::kPush, {Bulk("message"), Bulk("x")})},
      {"|1\r\n+ttl\r\n:30\r\n:7\r\n", Integer(7)},
      {"|0\r\n|1\r\n+a\r\n*1\r\n|1\r\n+b\r\n:1\r\n:2\r\n$1\r\nx\r\n", Bulk("x")},
      {"*2\r\n|1\r\n+a\r\n:1\r\n:5\r\n:6\r\n", Tree(ReplyType::kArray, {Integer(5), Integer(6)})},
  };
}

TEST(ReplyParser, ReadsEveryType) {
  for (const ReplyCase& expected : Replies()) {
    const Parsed parsed = ParseReply(expected.bytes + "+next\r\n");
    EXPECT_EQ(parsed.status, ReplyStatus::kReply) << expected.bytes << parsed.error;
    EXPECT_EQ(parsed.consumed, expected.bytes.size()) << expected.bytes;
    EXPECT_TRUE(parsed.reply == expected.reply) << expected.bytes;
  }
}

TEST(ReplyParser, ReadsNan) {
  const Parsed parsed = ParseReply(",nan\r\n");
  ASSERT_EQ(parsed.status, ReplyStatus::kReply);
  EXPECT_TRUE(std::isnan(parsed.reply.number));
}

TEST(ReplyParser, GivesTheSameByteByByte) {
  for (const ReplyCase& expected : Replies()) {
    ReplyParser parser;
    Reply reply;
    std::size_t consumed = 0;
    for (std::size_t size = 0; size < expected.bytes.size(); ++size) {
      const std::vector<char> moved(expected.bytes.begin(),
                                    expected.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_EQ(parser.Parse({moved.data(), size}, reply, consumed), ReplyStatus::kNeedMore)
          << expected.bytes << " up to " << size;
      ASSERT_EQ(consumed, 0u);
    }
    ASSERT_EQ(parser.Parse(expected.bytes, reply, consumed), ReplyStatus::kReply);
    EXPECT_TRUE(reply == expected.reply) << expected.bytes;
    EXPECT_EQ(consumed, expected.bytes.size());
  }
}

TEST(ReplyParser, ReadsOneReplyAfterTheOther) {
  std::string bytes;
  for (const ReplyCase& expected : Replies()) bytes += expected.bytes;
  ReplyParser parser;
  std::string_view rest = bytes;
  for (const ReplyCase& expected : Replies()) {
    Reply reply;
    std::size_t consumed = 0;
    ASSERT_EQ(parser.Parse(rest, reply, consumed), ReplyStatus::kReply);
    EXPECT_TRUE(reply == expected.reply) << expected.bytes;
    rest.remove_prefix(consumed);
  }
  EXPECT_TRUE(rest.empty());
}

TEST(ReplyParser, RefusesWhatIsNotAReply) {
  for (const std::string_view bytes : {"?",
                                       "LOCK\r\n",
                                       "\r\n",
                                       ":\r\n",
                                       ":a\r\n",
                                       ":1 \r\n",
                                       ":+-1\r\n",
                                       ":9223372036854775808\r\n",
                                       "+OK\rX",
                                       ":1\rX",
                                       ",\r\n",
                                       ",1.5x\r\n",
                                       "#\r\n",
                                       "#x\r\n",
                                       "#tt\r\n",
                                       "_x\r\n",
                                       "(\r\n",
                                       "(-\r\n",
                                       "(12a\r\n",
                                       "$\r\n",
                                       "$a",
                                       "$-2\r\n",
                                       "$?\r\n",
                                       "$01\r\n",
                                       "$1\r\nabc",
                                       "*-2\r\n",
                                       "*?\r\n",
                                       "%-1\r\n",
                                       "~-1\r\n",
                                       ">-1\r\n",
                                       "|-1\r\n",
                                       "!-1\r\n",
                                       "=-1\r\n",
                                       "=3\r\ntxt\r\n",
                                       "=4\r\ntxtx\r\n",
                                       "=0\r\n\r\n",
                                       "*1\r\n?",
                                       "%1\r\n+a\r\n?",
                                       "$18446744073709551616\r\n",
                                       "%9223372036854775808\r\n"}) {
    const Parsed parsed = ParseReply(bytes);
    EXPECT_EQ(parsed.status, ReplyStatus::kError) << bytes;
    EXPECT_FALSE(parsed.error.empty()) << bytes;
  }
}

TEST(ReplyParser, RefusesWhatIsTooDeep) {
  std::string deepest;
  for (std::size_t level = 0; level < ReplyScanner::kDepthMax; ++level) deepest += "*1\r\n";
  EXPECT_EQ(ParseReply(deepest + ":1\r\n").status, ReplyStatus::kReply);
  EXPECT_EQ(ParseReply(deepest + "*1\r\n").status, ReplyStatus::kError);
  EXPECT_EQ(ParseReply(deepest + "|1\r\n").status, ReplyStatus::kError);
  EXPECT_EQ(ParseReply("*1\r\n*1\r\n:1\r\n", {.depth_max = 1}).error, "too deep reply");
  EXPECT_EQ(ParseReply("*1\r\n:1\r\n", {.depth_max = 1}).status, ReplyStatus::kReply);
  EXPECT_EQ(ParseReply("*1\r\n:1\r\n", {.depth_max = 0}).status, ReplyStatus::kError);
}

TEST(ReplyParser, RefusesWhatIsTooBig) {
  const ReplyLimits limits = {.bytes_max = 16};
  EXPECT_EQ(ParseReply("$9\r\n123456789\r\n", limits).status, ReplyStatus::kReply);
  for (const std::string_view bytes :
       {"$11\r\n", "$17\r\n", "*5\r\n", "%3\r\n", "*2\r\n$9\r\n", "*2\r\n:123\r\n:1234\r\n",
        "+12345678901234\r\n", "*2\r\n:1234567\r\n:1"}) {
    EXPECT_EQ(ParseReply(bytes, limits).error, "too big reply") << bytes;
  }
  EXPECT_EQ(ParseReply("+" + std::string(70'000, 'x')).error, "too long line");
}

TEST(SkipReply, FindsTheEndOfEveryType) {
  for (const ReplyCase& expected : Replies()) {
    const std::string bytes = expected.bytes + ":1\r\n";
    const SkippedReply skipped = SkipReply(bytes);
    EXPECT_EQ(skipped.status, ReplyStatus::kReply) << expected.bytes;
    EXPECT_EQ(skipped.consumed, expected.bytes.size()) << expected.bytes;
    EXPECT_EQ(skipped.type, expected.reply.type) << expected.bytes;
    EXPECT_EQ(skipped.integer, expected.reply.integer) << expected.bytes;
    EXPECT_EQ(skipped.text, expected.reply.text) << expected.bytes;
  }
}

TEST(SkipReply, NeedsMoreAtEveryByteBeforeTheEnd) {
  for (const ReplyCase& expected : Replies()) {
    for (std::size_t size = 0; size < expected.bytes.size(); ++size) {
      const SkippedReply skipped = SkipReply(std::string_view(expected.bytes).substr(0, size));
      ASSERT_EQ(skipped.status, ReplyStatus::kNeedMore) << expected.bytes << " up to " << size;
      ASSERT_EQ(skipped.consumed, 0u);
    }
  }
}

TEST(SkipReply, RefusesWhatIsNotAReply) {
  EXPECT_EQ(SkipReply("?").status, ReplyStatus::kError);
  EXPECT_EQ(SkipReply("*2\r\n:1\r\n?").status, ReplyStatus::kError);
}

}  // namespace
}  // namespace fairlock::protocol
