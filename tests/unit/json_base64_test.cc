#include <gtest/gtest.h>

#include <string>

#include "json/base64.h"

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

}  // namespace
}  // namespace fairlock::json
