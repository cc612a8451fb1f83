#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/handlers/redis_arguments.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;

constexpr std::string_view kNoDigest = "0123456789abcdef";

class ValueConditionTest : public testing::Test {
 protected:
  // Every condition, with an operand for which it is true if the owner is `owner`.
  static std::vector<std::vector<std::string>> TrueOf(const std::string& owner) {
    std::string upper = DigestOf(owner);
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    return {{"IFEQ", owner},
            {"IFNE", owner + "x"},
            {"IFDEQ", DigestOf(owner)},
            {"IFDEQ", upper},
            {"IFDNE", std::string(kNoDigest)}};
  }
  static std::vector<std::vector<std::string>> FalseOf(const std::string& owner) {
    return {{"IFEQ", owner + "x"},
            {"IFNE", owner},
            {"IFDEQ", std::string(kNoDigest)},
            {"IFDNE", DigestOf(owner)}};
  }
  static bool MayMakeKey(const std::string& name) { return name == "IFNE" || name == "IFDNE"; }

  std::string Set(const std::string& value, const std::vector<std::string>& condition) {
    return client_.Say({"SET", "k", value, condition[0], condition[1]});
  }
  std::string DelEx(const std::vector<std::string>& condition) {
    return client_.Say({"DELEX", "k", condition[0], condition[1]});
  }

  TestServer server_;
  TestClient& client_ = server_.Connect();
};

TEST(DigestOf, IsThatOfRedis) {
  EXPECT_EQ(DigestOf("Hello world"), "b6acb9d84a38ff74");
  EXPECT_EQ(DigestOf("").size(), 16U);
}

TEST_F(ValueConditionTest, ChangesAKeyOnlyIfTheConditionIsTrue) {
  for (const auto& condition : TrueOf("one")) {
    client_.Say({"SET", "k", "one"});
    EXPECT_EQ(Set("two", condition), "OK") << condition[0];
    EXPECT_EQ(client_.Say({"GET", "k"}), "\"two\"");
    client_.Say({"SET", "k", "one"});
    EXPECT_EQ(DelEx(condition), "1") << condition[0];
    EXPECT_EQ(client_.Say({"EXISTS", "k"}), "0");
  }
  for (const auto& condition : FalseOf("one")) {
    client_.Say({"SET", "k", "one"});
    EXPECT_EQ(Set("two", condition), "nil") << condition[0];
    EXPECT_EQ(client_.Say({"SET", "k", "two", condition[0], condition[1], "GET"}), "\"one\"");
    EXPECT_EQ(DelEx(condition), "0") << condition[0];
    EXPECT_EQ(client_.Say({"GET", "k"}), "\"one\"");
  }
}

TEST_F(ValueConditionTest, AKeyThatDoesNotExistEqualsNothing) {
  for (const auto& condition : TrueOf("one")) {
    client_.Say({"DEL", "k"});
    EXPECT_EQ(DelEx(condition), "0");
    EXPECT_EQ(Set("two", condition), MayMakeKey(condition[0]) ? "OK" : "nil") << condition[0];
  }
}

// A release by value must not end a hold that LOCK has granted, whatever the condition.
TEST_F(ValueConditionTest, ANativeHoldIsProtected) {
  client_.Say({"LOCK", "k", "one", "EX", "60"});
  for (const std::string owner : {"one", "two", ""}) {
    auto conditions = TrueOf(owner);
    for (const auto& condition : FalseOf(owner)) conditions.push_back(condition);
    for (const auto& condition : conditions) {
      EXPECT_EQ(DelEx(condition), "0") << condition[0];
      const std::string reply = Set("three", condition);
      EXPECT_TRUE(reply == "nil" || reply.find("is held through LOCK") != std::string::npos)
          << reply;
      EXPECT_EQ(client_.Say({"LOCKED", "k", "one"}), "1");
    }
  }
  EXPECT_EQ(client_.Say({"DELIFEQ", "k", "one"}), "0");
}

TEST_F(ValueConditionTest, AWaiterGetsWhatIsReleased) {
  client_.Say({"SET", "k", "one"});
  TestClient& waiter = server_.Connect();
  waiter.Say({"LOCK", "k", "two", "WAIT", "10s"});
  EXPECT_EQ(client_.Say({"DELIFEQ", "k", "two"}), "0");
  EXPECT_EQ(client_.Say({"DELIFEQ", "k", "one"}), "1");
  EXPECT_EQ(client_.Say({"LOCKED", "k", "two"}), "1");
}

TEST_F(ValueConditionTest, BadInputIsRefused) {
  client_.Say({"SET", "k", "one"});
  client_.Say({"HSET", "h", "f", "v"});
  for (const std::string name : {"IFEQ", "IFNE", "IFDEQ", "IFDNE"}) {
    for (const std::string other : {"NX", "XX"}) {
      EXPECT_THAT(client_.Say({"SET", "k", "v", name, std::string(kNoDigest), other}),
                  HasSubstr("syntax error"));
      EXPECT_THAT(client_.Say({"SET", "k", "v", other, name, std::string(kNoDigest)}),
                  HasSubstr("syntax error"));
    }
    EXPECT_THAT(client_.Say({"SET", "k", "v", name}), HasSubstr("syntax error"));
    EXPECT_THAT(client_.Say({"SET", "h", "v", name, std::string(kNoDigest)}),
                HasSubstr("WRONGTYPE"));
    EXPECT_THAT(client_.Say({"DELEX", "h", name, std::string(kNoDigest)}),
                HasSubstr("should be of string type"));
    EXPECT_THAT(client_.Say({"DELEX", "k", name}), HasSubstr("wrong number of arguments"));
  }
  for (const std::string name : {"IFDEQ", "IFDNE"}) {
    EXPECT_THAT(client_.Say({"SET", "k", "v", name, "12"}), HasSubstr("16 hexadecimal"));
    EXPECT_THAT(client_.Say({"DELEX", "k", name, "12"}), HasSubstr("16 hexadecimal"));
  }
  EXPECT_THAT(client_.Say({"DELEX", "k", "IF", "v"}), HasSubstr("Invalid condition"));
  EXPECT_THAT(client_.Say({"DELIFEQ", "h", "v"}), HasSubstr("WRONGTYPE"));
  EXPECT_THAT(client_.Say({"DIGEST", "h"}), HasSubstr("WRONGTYPE"));
  EXPECT_EQ(client_.Say({"GET", "k"}), "\"one\"");
  EXPECT_EQ(client_.Say({"DELEX", "h"}), "1");
}

TEST_F(ValueConditionTest, DigestIsThatOfWhatGetReturns) {
  EXPECT_EQ(client_.Say({"DIGEST", "k"}), "nil");
  client_.Say({"SET", "k", "one"});
  EXPECT_EQ(client_.Say({"DIGEST", "k"}), '"' + DigestOf("one") + '"');
}

}  // namespace
}  // namespace fairlock::command
