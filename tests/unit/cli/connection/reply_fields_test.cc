#include "cli/connection/reply_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/protocol/reply_values.h"

namespace fairlock::cli {
namespace {

using protocol::Bulk;
using protocol::Integer;
using protocol::Map;
using protocol::Reply;

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
