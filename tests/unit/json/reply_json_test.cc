#include "json/reply_json.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/protocol/reply_values.h"

namespace fairlock::json {
namespace {

using protocol::Bulk;
using protocol::Integer;
using protocol::Map;
using protocol::Reply;
using protocol::ReplyType;

TEST(ReplyJson, MapIsAnObjectInTheServersOrder) {
  const Reply map = Map(
      {Bulk("owner"), Bulk("a"), Bulk("token"), Integer(7), Bulk("meta"), Reply{}, Bulk("holders"),
       Reply{.type = ReplyType::kArray, .elements = {Map({Bulk("x"), Integer(1)})}}});
  EXPECT_EQ(Written(ObjectOf(map)), R"({"owner":"a","token":7,"meta":null,"holders":[{"x":1}]})");
}

TEST(ReplyJson, BytesThatAreNotUtf8StandBesideTheirText) {
  boost::json::object object;
  AddText(object, "key", "a\xff");
  AddText(object, "owner", "\"\x1b\n");
  EXPECT_EQ(Written(object),
            "{\"key\":\"a\xef\xbf\xbd\",\"key_base64\":\"Yf8=\",\"owner\":\"\\\"\\u001b\\n\"}");
}

}  // namespace
}  // namespace fairlock::json
