#include "json/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlock::json {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

std::string Json(std::string_view bytes) {
  std::string out;
  const bool is_faithful = AppendJsonText(out, bytes);
  return is_faithful ? out : out + " lossy";
}

TEST(JsonText, EscapesWhatMayNotStandInAText) {
  EXPECT_EQ(Json("order:42"), "\"order:42\"");
  EXPECT_EQ(Json(""), "\"\"");
  EXPECT_EQ(Json("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(Json("\0\x01\n\x1f\x7f"s), "\"\\u0000\\u0001\\u000a\\u001f\x7f\"");
}

TEST(JsonText, KeepsUtf8) {
  for (const char* text : {"\u00e9", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000",
                           "\U0010ffff", "a\u00e9b\u20acc\U0001f512d"}) {
    EXPECT_EQ(Json(text), "\"" + std::string(text) + "\"") << text;
  }
}

TEST(JsonText, ReplacesWhatIsNotUtf8) {
  const std::string one = R"("\ufffd" lossy)";
  const std::string two = R"("\ufffd\ufffd" lossy)";
  const std::string three = R"("\ufffd\ufffd\ufffd" lossy)";
  const std::string four = R"("\ufffd\ufffd\ufffd\ufffd" lossy)";
  EXPECT_EQ(Json("\x80"), one);
  EXPECT_EQ(Json("\xff"), one);
  EXPECT_EQ(Json("\xc3"), one);               // truncated
  EXPECT_EQ(Json("\xc0\xaf"), two);           // overlong
  EXPECT_EQ(Json("\xe0\x9f\xbf"), three);     // overlong
  EXPECT_EQ(Json("\xed\xa0\x80"), three);     // a surrogate
  EXPECT_EQ(Json("\xe2\x82"), two);           // truncated
  EXPECT_EQ(Json("\xf0\x8f\xbf\xbf"), four);  // overlong
  EXPECT_EQ(Json("\xf4\x90\x80\x80"), four);  // beyond Unicode
  EXPECT_EQ(Json("caf\xe9 au lait"), R"("caf\ufffd au lait" lossy)");
  EXPECT_EQ(Json("\xe2\x82z"), R"("\ufffd\ufffdz" lossy)");
}

}  // namespace
}  // namespace fairlock::json
