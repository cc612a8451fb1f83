// Whatever the writers write, the parsers read back.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_parser.h"
#include "protocol/reply_writer.h"
#include "protocol/request_writer.h"
#include "tests/unit/protocol/parse_in_pieces.h"

namespace fairlock::protocol {
namespace {

// Writes a random tree and records the expected result of reading it.
class RandomReply {
 public:
  explicit RandomReply(RespVersion version) : version_(version), writer_(bytes_, version) {}

  Reply Write(int depth) {
    const std::size_t kinds = depth == 0 ? 8 : 12;
    switch (Below(kinds)) {
      case 0:
        return WriteNull();
      case 1:
        return WriteInteger();
      case 2:
        return WriteText(ReplyType::kBulk);
      case 3:
        return WriteText(ReplyType::kSimple);
      case 4:
        return WriteText(ReplyType::kError);
      case 5:
        return WriteText(ReplyType::kVerbatim);
      case 6:
        return WriteDouble();
      case 7:
        return WriteBoolean();
      case 8:
        return WriteTree(ReplyType::kArray, depth);
      case 9:
        return WriteTree(ReplyType::kMap, depth);
      case 10:
        return WriteTree(ReplyType::kSet, depth);
      default:
        return WriteTree(ReplyType::kPush, depth);
    }
  }

  const std::string& bytes() const { return bytes_; }

 private:
  bool IsResp3() const { return version_ == RespVersion::kResp3; }
  std::size_t Below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  Reply WriteNull() {
    if (Below(2) == 0) {
      writer_.Null();
    } else {
      writer_.NullArray();
    }
    return {};
  }

  Reply WriteInteger() {
    const auto value = static_cast<std::int64_t>(random_()) >> Below(64);
    writer_.Integer(value);
    return {.type = ReplyType::kInteger, .integer = value};
  }

  Reply WriteBoolean() {
    const bool value = Below(2) == 0;
    writer_.Boolean(value);
    return {.type = IsResp3() ? ReplyType::kBoolean : ReplyType::kInteger,
            .integer = value ? 1 : 0};
  }

  Reply WriteDouble() {
    const double value = static_cast<double>(static_cast<std::int64_t>(random_())) / 3e15;
    const std::size_t start = bytes_.size();
    writer_.Double(value);
    if (IsResp3()) return {.type = ReplyType::kDouble, .number = value};
    const std::size_t digits = bytes_.find('\n', start) + 1;
    return {.type = ReplyType::kBulk, .text = bytes_.substr(digits, bytes_.size() - digits - 2)};
  }

  Reply WriteText(ReplyType type) {
    const bool any_bytes = type == ReplyType::kBulk || type == ReplyType::kVerbatim;
    std::string text;
    for (std::size_t size = Below(30); size != 0; --size) {
      text.push_back(static_cast<char>(any_bytes ? Below(256) : ' ' + Below(95)));
    }
    if (type == ReplyType::kSimple) writer_.Simple(text);
    if (type == ReplyType::kBulk) writer_.Bulk(text);
    if (type == ReplyType::kError) {
      writer_.Error(ErrorCode::kDeadlock, text);
      text = "DEADLOCK " + text;
    }
    if (type != ReplyType::kVerbatim) return {.type = type, .text = text};
    writer_.Verbatim("mkd", text);
    if (!IsResp3()) return {.type = ReplyType::kBulk, .text = text};
    return {.type = type, .format = {'m', 'k', 'd'}, .text = text};
  }

  Reply WriteTree(ReplyType type, int depth) {
    std::size_t elements = Below(6);
    switch (type) {
      case ReplyType::kMap:
        writer_.MapHeader(elements);
        break;
      case ReplyType::kSet:
        writer_.SetHeader(elements);
        break;
      case ReplyType::kPush:
        writer_.PushHeader(elements);
        break;
      default:
        writer_.ArrayHeader(elements);
        break;
    }
    if (type == ReplyType::kMap) elements *= 2;
    Reply reply = {.type = IsResp3() ? type : ReplyType::kArray};
    for (; elements != 0; --elements) reply.elements.push_back(Write(depth - 1));
    return reply;
  }

  std::string bytes_;
  RespVersion version_;
  ReplyWriter writer_;
  static inline std::mt19937_64 random_{3247};
};

class RoundTrip : public ::testing::TestWithParam<RespVersion> {};

TEST_P(RoundTrip, RepliesAreReadAsWritten) {
  for (int round = 0; round < 2'000; ++round) {
    RandomReply written(GetParam());
    const Reply expected = written.Write(5);
    ReplyParser parser;
    Reply reply;
    std::size_t consumed = 0;
    ASSERT_EQ(parser.Parse(written.bytes(), reply, consumed), ReplyStatus::kReply)
        << written.bytes() << parser.error();
    ASSERT_EQ(consumed, written.bytes().size());
    ASSERT_TRUE(reply == expected) << written.bytes();
    ASSERT_EQ(SkipReply(written.bytes()).consumed, consumed) << written.bytes();
  }
}

TEST_P(RoundTrip, DoublesAreReadAsWritten) {
  for (const double value : {0.0, 0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -2.5e-7, 1e22}) {
    std::string bytes;
    ReplyWriter(bytes, GetParam()).Double(value);
    ReplyParser parser;
    Reply reply;
    std::size_t consumed = 0;
    ASSERT_EQ(parser.Parse(bytes, reply, consumed), ReplyStatus::kReply);
    const bool is_resp3 = GetParam() == RespVersion::kResp3;
    EXPECT_EQ(is_resp3 ? reply.number : std::strtod(reply.text.c_str(), nullptr), value) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, RoundTrip,
                         ::testing::Values(RespVersion::kResp2, RespVersion::kResp3),
                         [](const auto& version) {
                           return version.param == RespVersion::kResp2 ? "Resp2" : "Resp3";
                         });

TEST(RequestWriter, WritesTheMultibulkForm) {
  std::string out = "before";
  AppendRequest(out, {"LOCK", "a\r\nb", ""});
  EXPECT_EQ(out, "before*3\r\n$4\r\nLOCK\r\n$4\r\na\r\nb\r\n$0\r\n\r\n");
}

TEST(RequestWriter, RequestsAreReadAsWritten) {
  std::string bytes;
  AppendRequest(bytes, {"PING"});
  AppendRequest(bytes, {"LOCK", "key", "owner", "META", std::string(4'096, '\0')});
  const ParsedBytes parsed = ParseWhole(bytes);
  ASSERT_EQ(parsed.requests.size(), 2u);
  EXPECT_EQ(parsed.requests[1][4], std::string(4'096, '\0'));
  EXPECT_EQ(parsed.unfinished_bytes, 0u);
}

}  // namespace
}  // namespace fairlock::protocol
