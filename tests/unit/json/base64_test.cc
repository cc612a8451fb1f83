#include "json/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace fairlock::json {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

TEST(Base64, IsPadded) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xff\xfe\0\x80"s), "//4AgA==");
}

TEST(Base64, ComesBack) {
  for (const std::string& bytes : {""s, "f"s, "fo"s, "foo"s, "\0\xff\x80"s, "foobar!"s}) {
    EXPECT_EQ(DecodeBase64(Base64(bytes)), bytes);
  }
}

TEST(Base64, NothingElseIsTakenForIt) {
  for (const char* text :
       {"Zg", "Zg=", "=Zg=", "Zh==", "Z===", "====", "Zm9v\n", "Zm 9", "Zm9-", "Zg==Zg=="}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fairlock::json
