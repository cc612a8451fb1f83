#include <gtest/gtest.h>

#include <string>

#include "server/http/target.h"

namespace fairlock::http {
namespace {

std::string NameOf(std::string_view text) {
  const auto host = ParseHost(text);
  return host ? host->name + (host->is_address ? " address" : " name") : "none";
}

TEST(HttpHost, NamesAndAddressesWithAndWithoutAPort) {
  EXPECT_EQ(NameOf("localhost"), "localhost name");
  EXPECT_EQ(NameOf("Locks.Example:3248"), "Locks.Example name");
  EXPECT_EQ(NameOf("a_b-c~d.example:"), "a_b-c~d.example name");
  EXPECT_EQ(NameOf("127.0.0.1"), "127.0.0.1 address");
  EXPECT_EQ(NameOf("10.0.0.1:65535"), "10.0.0.1 address");
  EXPECT_EQ(NameOf("[::1]:80"), "[::1] address");
  EXPECT_EQ(NameOf("[2001:db8::1]"), "[2001:db8::1] address");
  EXPECT_EQ(NameOf("[::ffff:10.0.0.1]"), "[::ffff:10.0.0.1] address");
}

TEST(HttpHost, WhatLooksLikeAnAddressAndIsNoneIsAName) {
  EXPECT_EQ(NameOf("127.1"), "127.1 name");
  EXPECT_EQ(NameOf("256.0.0.1"), "256.0.0.1 name");
}

TEST(HttpHost, WhatIsNoHostIsRefused) {
  for (const std::string_view text : {"",
                                      ":80",
                                      "[evil]",
                                      "[evil]:80",
                                      "[::1",
                                      "::1",
                                      "[]",
                                      "[v1.evil]",
                                      "[::1%25eth0]",
                                      "[::1]x",
                                      "[127.0.0.1]",
                                      "1.2.3.4.5",
                                      "user@127.0.0.1",
                                      "127.0.0.1:80:80",
                                      "127.0.0.1:x",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:99999999999",
                                      "localhost/",
                                      "localhost, evil",
                                      "local host",
                                      "localhost?",
                                      "localhost#",
                                      "localhost\\",
                                      "%zz",
                                      "\xc3\xa9"}) {
    EXPECT_EQ(NameOf(text), "none") << text;
  }
}

}  // namespace
}  // namespace fairlock::http
