// MSETEX writes all of its keys or none, whatever stands there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;

// How a key may be taken before, as requests; empty if it is free.
constexpr std::string_view kTaken[] = {"", "SET %s old", "SET %s old PX 5000", "RPUSH %s old"};
// The options for the end, and the time to live that they give a key that had none: -1 if it has
// none.
struct End {
  std::string_view words;
  std::string_view ttl;
};
constexpr End kEnds[] = {{"", "-1"}, {"EX 100", "100"}, {"px 100000", "100"}, {"KEEPTTL", "-1"}};

std::string With(std::string_view request, std::string_view key) {
  std::string text(request);
  const std::size_t at = text.find("%s");
  return at == std::string::npos ? text : text.replace(at, 2, key);
}

TEST(MSetEx, WritesAllKeysOrNoneForEveryConditionAndEnd) {
  for (const std::string_view first : kTaken) {
    for (const std::string_view second : kTaken) {
      for (const std::string_view condition : {"", "NX", "XX"}) {
        for (const End& end : kEnds) {
          TestServer server;
          TestClient& client = server.Connect();
          if (!first.empty()) client.Say(With(first, "a"));
          if (!second.empty()) client.Say(With(second, "b"));
          const bool exist_all = !first.empty() && !second.empty();
          const bool exist_none = first.empty() && second.empty();
          const bool is_met = condition.empty() || (condition == "NX" ? exist_none : exist_all);
          const std::string request =
              "MSETEX 2 a new b new " + std::string(condition) + " " + std::string(end.words);
          SCOPED_TRACE(With(first, "a") + "; " + With(second, "b") + "; " + request);
          EXPECT_EQ(client.Say(request), is_met ? "1" : "0");
          const std::string_view taken[] = {first, second};
          for (int i = 0; i < 2; ++i) {
            const std::string key(1, static_cast<char>('a' + i));
            const std::string type = client.Say("TYPE " + key);
            if (!is_met) {
              EXPECT_EQ(type, taken[i].empty()                ? "none"
                              : taken[i].starts_with("RPUSH") ? "list"
                                                              : "string");
              continue;
            }
            EXPECT_EQ(client.Say("GET " + key), "\"new\"");
            const bool keeps = end.words == "KEEPTTL" && taken[i].ends_with("5000");
            EXPECT_EQ(client.Say("TTL " + key), keeps ? "5" : end.ttl);
          }
        }
      }
    }
  }
}

TEST(MSetEx, ChangesNothingIfOneKeyIsHeldByLock) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("LOCK b owner");
  client.Say("SET a old");
  EXPECT_THAT(client.Say("MSETEX 2 a new b new"), HasSubstr("is held through LOCK"));
  EXPECT_EQ(client.Say("GET a"), "\"old\"");
  EXPECT_EQ(client.Say("MSETEX 2 free new b new NX"), "0");
  EXPECT_EQ(client.Say("EXISTS free"), "0");
}

TEST(MSetEx, DeletesKeysIfTheTimeIsOver) {
  TestServer server;
  TestClient& client = server.Connect();
  client.Say("SET a old");
  client.Say("RPUSH b old");
  EXPECT_EQ(client.Say("MSETEX 3 a new b new c new EXAT 1"), "1");
  EXPECT_EQ(client.Say("EXISTS a b c"), "0");
}

TEST(MSetEx, RefusesWhatRedisRefuses) {
  TestServer server;
  TestClient& client = server.Connect();
  for (const std::string_view count : {"0", "-1", "x", "01", "2147483648"}) {
    EXPECT_THAT(client.Say("MSETEX " + std::string(count) + " a b"),
                HasSubstr("invalid numkeys value or out of range"));
  }
  for (const std::string_view request :
       {"MSETEX 2 a b", "MSETEX 2 a b c", "MSETEX 1 a b c d", "MSETEX 1 a b NX XX",
        "MSETEX 1 a b EX", "MSETEX 1 a b EX 10 PX 10", "MSETEX 1 a b KEEPTTL EX 10",
        "MSETEX 1 a b GET", "MSETEX 1 a b IFEQ b", "MSETEX 2 a b c d e"}) {
    EXPECT_THAT(client.Say(request), HasSubstr("syntax error")) << request;
  }
  EXPECT_THAT(client.Say("MSETEX 1 a b EX 0"),
              HasSubstr("invalid expire time in 'msetex' command"));
  EXPECT_EQ(client.Say("DBSIZE"), "0");
}

}  // namespace
}  // namespace fairlock::command
