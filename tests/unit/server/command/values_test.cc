// Small values beside locks: types, bounds, memory, walks and waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kWrongType =
    "-WRONGTYPE Operation against a key holding the wrong kind of value";

class ValueCommands : public testing::Test {
 protected:
  ~ValueCommands() override { server_.parts().values.store().CheckInvariants(); }

  TestServer server_;
  TestClient& client_ = server_.Connect();
  TestClient& other_ = server_.Connect();
};

TEST_F(ValueCommands, AKeyIsEitherALockOrAValue) {
  client_.Say("HSET h f v");
  for (const char* request :
       {"LOCK h a", "LOCK h a WAIT 10s", "MLOCK 2 free h a", "GET h", "INCR h", "GETSET h v",
        "SET h v GET", "LPUSH h x", "SADD h x", "ZADD h 1 x", "BLPOP free h 0"}) {
    EXPECT_EQ(client_.Say(request), kWrongType) << request;
  }
  EXPECT_EQ(client_.Say("LOCKED free"), "0");
  EXPECT_EQ(client_.Say("SET h v NX"), "nil");
  EXPECT_EQ(client_.Say("SETNX h v"), "0");
  EXPECT_EQ(client_.Say("MSETNX free v h v"), "0");
  EXPECT_EQ(client_.Say("SET h v"), "OK");
  EXPECT_EQ(client_.Say("TYPE h"), "string");
  EXPECT_EQ(client_.Say("HSET h f v"), kWrongType);
  EXPECT_EQ(client_.Say("DEL h"), "1");
  EXPECT_EQ(client_.Say("HSET h f v"), "1");
}

TEST_F(ValueCommands, AKeyWithAValueIsNeverCalledFree) {
  client_.Say("HSET h f v");
  client_.Say("ZADD z 1 m");
  for (const auto& [key, type] : {std::pair{"h", "hash"}, {"z", "zset"}}) {
    const std::string why = "-WRONGTYPE the key is not free: it has a " + std::string(type) +
                            ", which is no lock of a library that fairlock knows";
    EXPECT_EQ(client_.Say("LOCKED " + std::string(key)), why);
    EXPECT_EQ(client_.Say("LOCKED " + std::string(key) + " m"), why);
    EXPECT_EQ(client_.Say("WAIT " + std::string(key) + " TIMEOUT 1s"), kWrongType);
    const std::string info = client_.Say("LOCKINFO " + std::string(key));
    EXPECT_THAT(info, HasSubstr("\"mode\" \"value\""));
    EXPECT_THAT(info, HasSubstr("\"type\" \"" + std::string(type) + "\""));
  }
  EXPECT_THAT(client_.Say("LOCKINFO free"), testing::Not(HasSubstr("\"type\"")));
}

TEST_F(ValueCommands, AStoredResultReplacesWhatDelCouldEnd) {
  client_.Say("ZADD one 1 m 2 n");
  client_.Say("SET k v PX 5000");
  EXPECT_EQ(client_.Say("ZUNIONSTORE k 1 one"), "2");
  EXPECT_EQ(client_.Say("TTL k"), "-1");
  client_.Say("SET k v");
  EXPECT_EQ(client_.Say("ZINTERSTORE k 2 one none"), "0");
  EXPECT_EQ(client_.Say("EXISTS k"), "0");
  client_.Say("LOCK native a");
  client_.Say("SET waited a");
  EXPECT_EQ(other_.Say("LOCK waited b WAIT 10s"), "");
  for (const char* key : {"native", "waited"}) {
    EXPECT_EQ(client_.Say("ZUNIONSTORE " + std::string(key) + " 1 one"), kWrongType);
    EXPECT_EQ(client_.Say("LOCKED " + std::string(key) + " a"), "1");
  }
}

TEST_F(ValueCommands, AStoredResultIsBoundedAndReplacesNothingThen) {
  server_.parts().values.limits() = {.elements_max = 3, .bytes_max = 100};
  client_.Say("ZADD one 1 a 2 b");
  client_.Say("ZADD two 1 c 2 d");
  client_.Say("HSET k f v");
  EXPECT_THAT(client_.Say("ZUNIONSTORE k 2 one two"), HasSubstr("(value_elements_max)"));
  EXPECT_EQ(client_.Say("TYPE k"), "hash");
  EXPECT_EQ(client_.Say("ZUNIONSTORE k 2 one one WEIGHTS 1 2"), "2");
  EXPECT_EQ(client_.Say("ZSCORE k b"), "\"6\"");
  server_.parts().availability.BoundMemory(1000, server_.now());
  server_.environment().memory_in_use = 1001;
  EXPECT_THAT(client_.Say("ZUNIONSTORE k 1 two"), StartsWith("-OOM "));
}

TEST_F(ValueCommands, ANegativeCountOfMembersIsBounded) {
  client_.Say("SADD s m");
  EXPECT_EQ(client_.Say("SRANDMEMBER s -3"), "[\"m\" \"m\" \"m\"]");
  EXPECT_THAT(client_.Say("SRANDMEMBER s -9000000000000000000"), StartsWith("-FULL "));
}

TEST_F(ValueCommands, AreRefusedWhereOthersHoldOrWait) {
  client_.Say("LOCK k a");
  other_.Say("LOCK k b KEEP 60s");
  EXPECT_EQ(client_.Say("HSET k f v"), kWrongType);
  EXPECT_EQ(client_.Say("HGET k f"), kWrongType);
  client_.Say("UNLOCK k a");
  EXPECT_EQ(client_.Say("HSET k f v"), kWrongType);
  EXPECT_EQ(client_.Say("BLMOVE k free LEFT LEFT 0"), kWrongType);
  client_.Say("CANCEL k b");
  EXPECT_EQ(client_.Say("HSET k f v"), "1");
}

TEST_F(ValueCommands, SetReplacesAValueAndMayKeepItsTime) {
  client_.Say("SADD k m");
  client_.Say("PEXPIRE k 5000");
  EXPECT_EQ(client_.Say("SET k v XX KEEPTTL"), "OK");
  EXPECT_EQ(client_.Say("PTTL k"), "5000");
  EXPECT_EQ(client_.Say("DBSIZE"), "1");
}

TEST_F(ValueCommands, AreBounded) {
  server_.parts().values.limits() = {.elements_max = 3, .bytes_max = 100, .values_max = 2};
  EXPECT_EQ(client_.Say("RPUSH l a b c"), "3");
  EXPECT_EQ(client_.Say("RPUSH l d"),
            "-FULL the value of 'l' would have 4 elements; the limit is 3 (value_elements_max)");
  EXPECT_EQ(client_.Say("LLEN l"), "3");
  client_.Say("HSET h a 1 b 2");
  EXPECT_EQ(client_.Say("HSET h a 1 b 2 c 3 a 4"), "1");
  EXPECT_THAT(client_.Say("HSET h c 3 d 4"), StartsWith("-FULL "));
  EXPECT_EQ(client_.Say("HLEN h"), "3");
  EXPECT_THAT(client_.Say("HSET h a " + std::string(60, 'x')), HasSubstr("(value_bytes_max)"));
  EXPECT_EQ(client_.Say("HGET h a"), "\"4\"");
  EXPECT_THAT(client_.Say("SADD more m"), HasSubstr("max_locks"));
  EXPECT_THAT(client_.Say("LMOVE l more LEFT LEFT"), HasSubstr("max_locks"));
  EXPECT_EQ(client_.Say("LMOVE l l LEFT RIGHT"), "\"a\"");
}

TEST_F(ValueCommands, MayChangeButNotGrowAboveABoundThatWasLowered) {
  client_.Say("HSET h a 15 b 15 c 15");
  client_.Say("RPUSH l x y z");
  server_.parts().values.limits() = {.elements_max = 2, .bytes_max = 50};
  EXPECT_EQ(client_.Say("HINCRBY h a -1"), "14");
  EXPECT_EQ(client_.Say("HSET h a 7 b 16"), "0");
  EXPECT_EQ(client_.Say("LMOVE l l LEFT RIGHT"), "\"x\"");
  EXPECT_THAT(client_.Say("HSET h b 123"), HasSubstr("(value_bytes_max)"));
  EXPECT_THAT(client_.Say("HSET h d 1"), HasSubstr("4 elements; the limit is 2"));
  EXPECT_THAT(client_.Say("RPUSH l x"), HasSubstr("(value_elements_max)"));
  EXPECT_EQ(client_.Say("HDEL h c b"), "2");
  EXPECT_EQ(client_.Say("HSET h d 1"), "1");
}

TEST_F(ValueCommands, DoNotGrowWhileMemoryIsShort) {
  client_.Say("RPUSH l a b");
  server_.parts().availability.BoundMemory(1000, server_.now());
  server_.environment().memory_in_use = 1001;
  for (const char* request : {"RPUSH l c", "HSET h f v", "HINCRBY h f 1", "SADD s m", "ZADD z 1 m",
                              "ZINCRBY z 1 m", "LMOVE l m LEFT LEFT", "BLPOP free 0", "LSET l 0 x",
                              "LINSERT l BEFORE a x", "HINCRBYFLOAT h f 1"}) {
    EXPECT_THAT(client_.Say(request), StartsWith("-OOM ")) << request;
  }
  EXPECT_EQ(client_.Say("LPOP l"), "\"a\"");
  EXPECT_EQ(client_.Say("EXPIRE l 100"), "1");
  EXPECT_EQ(client_.Say("DEL l"), "1");
}

TEST_F(ValueCommands, OfManyElementsAreShownByPages) {
  auto& set =
      std::get<values::Set>(server_.parts().values.store().Create({0, "s"}, values::Set()).content);
  std::set<std::string> expected;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "m" + std::to_string(i);
    set.Add(name);
    expected.insert("\"" + name + "\"");
  }
  std::set<std::string> found;
  std::string cursor = "0";
  int pages = 0;
  do {
    const std::string page = client_.Say("SSCAN s " + cursor + " COUNT 100");
    cursor = page.substr(2, page.find('"', 2) - 2);
    for (std::size_t at = page.find('[', 1); (at = page.find('"', at)) != std::string::npos;) {
      const std::size_t end = page.find('"', at + 1);
      found.insert(page.substr(at, end + 1 - at));
      at = end + 1;
    }
    ++pages;
  } while (cursor != "0");
  EXPECT_EQ(found, expected);
  EXPECT_EQ(pages, 20);
}

// What shows or removes many elements is bounded by its work; what ends a value is not.
TEST_F(ValueCommands, OfTooManyElementsAreRefused) {
  auto& sorted = std::get<values::SortedSet>(
      server_.parts().values.store().Create({0, "z"}, values::SortedSet()).content);
  for (int i = 0; i < 130'000; ++i) sorted.Set(std::to_string(i), i);
  for (const char* request :
       {"ZRANGE z 0 -1", "ZRANGEBYSCORE z -inf +inf", "ZREVRANGE z 0 -1", "ZPOPMIN z 100000",
        "ZREMRANGEBYRANK z 1 -1", "ZREMRANGEBYSCORE z 1 +inf"}) {
    EXPECT_THAT(client_.Say(request), StartsWith("-FULL this would take longer")) << request;
  }
  EXPECT_EQ(client_.Say("ZCARD z"), "130000");
  EXPECT_EQ(client_.Say("ZRANGE z -1 -1"), "[\"129999\"]");
  EXPECT_EQ(client_.Say("ZREVRANGE z 0 0 WITHSCORES"), "[\"129999\" \"129999\"]");
  EXPECT_EQ(client_.Say("ZCOUNT z 10 19"), "10");
  EXPECT_EQ(client_.Say("ZREMRANGEBYSCORE z 10 19"), "10");
  client_.Say("MULTI");
  client_.Say("ZRANK z 20");
  client_.Say("ZRANGE z 0 1");
  EXPECT_EQ(client_.Say("EXEC"), "[10 [\"0\" \"1\"]]");
  EXPECT_EQ(client_.Say("ZREMRANGEBYRANK z 0 -1"), "129990");
  EXPECT_EQ(client_.Say("EXISTS z"), "0");
  EXPECT_EQ(server_.parts().NextDeadline(), 0);
  server_.AdvanceBy(1);
  while (server_.parts().Advance(server_.now(), 1000)) {
  }
}

TEST_F(ValueCommands, AreFoundByWalksBesideLocks) {
  std::set<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    const std::string number = std::to_string(i);
    client_.Say("SET lock" + number + " v");
    client_.Say("SADD set" + number + " m");
    expected.insert("\"lock" + number + "\"");
    expected.insert("\"set" + number + "\"");
  }
  std::set<std::string> found;
  std::string cursor = "0";
  do {
    const std::string page = client_.Say("SCAN " + cursor + " COUNT 7");
    cursor = page.substr(2, page.find('"', 2) - 2);
    for (std::size_t at = page.find('[', 1); (at = page.find('"', at)) != std::string::npos;) {
      const std::size_t end = page.find('"', at + 1);
      found.insert(page.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  } while (cursor != "0");
  EXPECT_EQ(found.size(), 400U);
  EXPECT_EQ(client_.Say("DBSIZE"), "400");
  EXPECT_TRUE(expected.contains(client_.Say("RANDOMKEY")));
  EXPECT_EQ(client_.Say("FLUSHDB"), "OK");
  EXPECT_EQ(client_.Say("RANDOMKEY"), "nil");
}

TEST_F(ValueCommands, ExpireAndWaitsEndInVirtualTime) {
  client_.Say("HSET h f v");
  client_.Say("PEXPIRE h 100");
  EXPECT_EQ(other_.Say("BLPOP q 0.2"), "");
  server_.AdvanceBy(101);
  EXPECT_TRUE(server_.parts().values.store().empty());
  EXPECT_EQ(other_.Hear(), "");
  server_.AdvanceBy(100);
  EXPECT_EQ(other_.Hear(), "nil");
  EXPECT_EQ(server_.parts().statistics.gauges.waiting_clients, 0U);
}

TEST_F(ValueCommands, AWaitEndsWithItsConnection) {
  EXPECT_EQ(other_.Say("BLPOP q 0"), "");
  other_.Close();
  EXPECT_EQ(client_.Say("RPUSH q a"), "1");
  EXPECT_EQ(client_.Say("LLEN q"), "1");
}

TEST_F(ValueCommands, AWaitHasAtMost128Keys) {
  std::string keys;
  for (int i = 0; i < 128; ++i) keys += " q" + std::to_string(i);
  EXPECT_EQ(other_.Say("BLPOP" + keys + " 0"), "");
  EXPECT_EQ(client_.Say("RPUSH q127 a"), "1");
  EXPECT_EQ(other_.Hear(), "[\"q127\" \"a\"]");
  EXPECT_EQ(client_.Say("BRPOP" + keys + " one 0"), "-ERR BRPOP takes 1 to 128 keys, got 129");
}

TEST_F(ValueCommands, HaveCategories) {
  for (const auto& [category, command] :
       {std::pair{"hash", "hset"}, {"list", "blpop"}, {"set", "sadd"}, {"sortedset", "zadd"}}) {
    EXPECT_THAT(client_.Say(std::string("ACL CAT ") + category), HasSubstr(command));
  }
}

}  // namespace
}  // namespace fairlock::command
