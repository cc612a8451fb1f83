#include "protocol/http_line.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::protocol {
namespace {

bool IsHttp(const std::string& line, bool first_line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  const std::vector<std::string_view> views(words.begin(), words.end());
  return IsHttpLine(views, first_line);
}

TEST(HttpLine, IsKnownByItsMethod) {
  for (const std::string method : {"POST", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "CONNECT",
                                   "TRACE", "Post", "delete"}) {
    EXPECT_TRUE(IsHttp(method, false)) << method;
    EXPECT_TRUE(IsHttp(method + " /x HTTP/1.1", true)) << method;
    EXPECT_FALSE(IsHttp(method + "X /x", true)) << method;
    EXPECT_FALSE(IsHttp("ECHO " + method, true)) << method;
  }
}

TEST(HttpLine, IsKnownByItsVersion) {
  for (const std::string version : {"HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/2", "http/1.1"}) {
    EXPECT_TRUE(IsHttp("LOCK /x " + version, false)) << version;
    EXPECT_TRUE(IsHttp("ANY /x y " + version, false)) << version;
    EXPECT_FALSE(IsHttp("GET " + version, false)) << version;
    EXPECT_FALSE(IsHttp("LOCK " + version + " owner", false)) << version;
  }
  for (const std::string word : {"HTTP", "HTTP/", "HTTP/x", "HTTP/1.", "HTTP/1.x", "HTTP/1-1",
                                 "HTTP/11", "HTTP/1.10", "XHTTP/1.1", "HTTP/1.1x"}) {
    EXPECT_FALSE(IsHttp("LOCK key " + word, true)) << word;
  }
}

TEST(HttpLine, IsKnownByAHostHeader) {
  EXPECT_TRUE(IsHttp("Host: localhost", false));
  EXPECT_TRUE(IsHttp("HOST:", false));
  EXPECT_TRUE(IsHttp("host:localhost", false));
  EXPECT_FALSE(IsHttp("Host localhost", true));
  EXPECT_FALSE(IsHttp("ECHO Host:", true));
}

TEST(HttpLine, OfGetNeedsATargetAtTheStartOfTheConnection) {
  for (const std::string target : {"/", "/path", "http://x/", "HTTPS://x"}) {
    EXPECT_TRUE(IsHttp("GET " + target, true)) << target;
    EXPECT_FALSE(IsHttp("GET " + target, false)) << target;
  }
  for (const std::string key : {"key", "https", "a/b", "httpd:1", ""}) {
    EXPECT_FALSE(IsHttp("GET " + key, true)) << key;
  }
}

TEST(HttpLine, IsNotALineWithoutWords) { EXPECT_FALSE(IsHttpLine({}, true)); }

}  // namespace
}  // namespace fairlock::protocol
