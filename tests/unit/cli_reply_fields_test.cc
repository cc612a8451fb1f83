#include <gtest/gtest.h>

#include <string>

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
