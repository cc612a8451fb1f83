#include <gtest/gtest.h>

#include <string>

#include "cli/json_text.h"
#include "cli/reply_fields.h"

namespace fairlock::cli {
namespace {

using protocol::Reply;
using protocol::ReplyType;

Reply Bulk(std::string text) { return {.type = ReplyType::kBulk, .text = std::move(text)}; }
Reply Integer(std::int64_t value) { return {.type = ReplyType::kInteger, .integer = value}; }

Reply Map(std::vector<Reply> elements) {
  return {.type = ReplyType::kMap, .elements = std::move(elements)};
}

TEST(JsonText, MapIsAnObjectInTheServersOrder) {
  const Reply map = Map(
      {Bulk("owner"), Bulk("a"), Bulk("token"), Integer(7), Bulk("meta"), Reply{}, Bulk("holders"),
       Reply{.type = ReplyType::kArray, .elements = {Map({Bulk("x"), Integer(1)})}}});
  EXPECT_EQ(Written(ObjectOf(map)), R"({"owner":"a","token":7,"meta":null,"holders":[{"x":1}]})");
}

TEST(JsonText, BytesThatAreNotUtf8StandBesideTheirText) {
  boost::json::object object;
  AddText(object, "key", "a\xff");
  AddText(object, "owner", "\"\x1b\n");
  EXPECT_EQ(Written(object),
            "{\"key\":\"a\xef\xbf\xbd\",\"key_base64\":\"Yf8=\",\"owner\":\"\\\"\\u001b\\n\"}");
}

TEST(JsonText, Base64IsPadded) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
}

TEST(ReplyFields, MissingFieldIsAsIfItWereNil) {
  const Reply map = Map({Bulk("a"), Integer(1), Bulk("b"), Bulk("text"), Bulk("c"), Reply{}});
  EXPECT_EQ(IntegerField(map, "a"), 1);
  EXPECT_EQ(IntegerField(map, "b"), std::nullopt);
  EXPECT_EQ(IntegerField(map, "c"), std::nullopt);
  EXPECT_EQ(IntegerField(map, "d"), std::nullopt);
  EXPECT_EQ(IntegerOr(map, "d", 5), 5);
  EXPECT_EQ(TextField(map, "b"), "text");
  EXPECT_EQ(TextField(map, "d"), "");
  EXPECT_EQ(FindField(map, "d"), nullptr);
}

}  // namespace
}  // namespace fairlock::cli
