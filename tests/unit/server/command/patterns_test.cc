// Limits on what subscribers' patterns, and globs in requests, may cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/command/pubsub/channels.h"
#include "server/command/pubsub/pattern_list.h"
#include "tests/unit/server/command/command_test_support.h"

namespace fairlock::command {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Returns a glob that costs as much as any glob can, when compared with a long key of letters "a".
std::string CostlyGlob(std::string_view begin) {
  return std::string(begin) + "*?" + std::string(500, 'a') + "b*";
}

std::vector<Channel> ChannelsOf(const std::vector<std::string>& globs) {
  std::vector<Channel> channels(globs.size());
  for (std::size_t i = 0; i < globs.size(); ++i) {
    channels[i].name = globs[i];
    channels[i].glob = std::make_unique<const engine::Glob>(globs[i]);
  }
  return channels;
}

TEST(PatternList, FindsWhatAMatchOfEachPatternFinds) {
  std::mt19937 random(1);
  const auto text_of = [&](std::string_view bytes, std::size_t size_max) {
    std::string text;
    for (std::size_t n = random() % size_max; n > 0; --n) text += bytes[random() % bytes.size()];
    return text;
  };
  std::size_t matched = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> globs;
    for (int i = 0; i < 12; ++i) globs.push_back(text_of("aabb*?", 7));
    std::sort(globs.begin(), globs.end());
    globs.erase(std::unique(globs.begin(), globs.end()), globs.end());
    const std::vector<Channel> patterns = ChannelsOf(globs);
    PatternList list;
    for (const Channel& pattern : patterns) list.Add(pattern);
    // Removes some of the patterns again.
    const std::size_t gone = random() % patterns.size();
    for (std::size_t i = 0; i < gone; ++i) list.Remove(patterns[i]);
    const std::string text = text_of("ab", 8);
    std::vector<std::string_view> expected;
    for (std::size_t i = gone; i < globs.size(); ++i) {
      if (engine::MatchesGlob(globs[i], text)) expected.push_back(globs[i]);
    }
    std::vector<std::string_view> found;
    std::uint64_t compared = 0;
    list.VisitMatches(text, 0, compared, [&](const Channel& pattern) {
      found.push_back(pattern.name);
      return true;
    });
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected) << text;
    matched += found.size();
    for (std::size_t i = gone; i < patterns.size(); ++i) list.Remove(patterns[i]);
    ASSERT_TRUE(list.empty());
    ASSERT_EQ(list.cost_max(), 0U);
  }
  EXPECT_GT(matched, 1000U);
}

TEST(PatternList, PatternsForOtherKeysCostNothing) {
  std::vector<std::string> globs;
  for (int i = 0; i < 10'000; ++i) globs.push_back("__lock@0__:order:" + std::to_string(i) + ":*");
  const std::vector<Channel> patterns = ChannelsOf(globs);
  PatternList list;
  for (const Channel& pattern : patterns) list.Add(pattern);
  std::uint64_t compared = 0;
  std::size_t matched = 0;
  list.VisitMatches("__lock@0__:order:4711:x", 0, compared, [&](const Channel&) {
    ++matched;
    return true;
  });
  EXPECT_EQ(matched, 1U);
  EXPECT_LT(compared, 500U);
}

class PatternsTest : public testing::Test {
 protected:
  // Subscribes until a subscription is refused; returns how many were accepted, and the refusal.
  std::pair<int, std::string> SubscribeToMany(TestClient& client, auto glob_of) {
    for (int i = 0;; ++i) {
      const std::string reply = client.Say({"PSUBSCRIBE", glob_of(i)});
      if (reply.starts_with("-")) return {i, reply};
    }
  }
  TestClient& Subscriber() {
    TestClient& client = server_.Connect();
    client.Say("HELLO 3");
    return client;
  }

  TestServer server_;
  TestClient& other_ = server_.Connect();
};

TEST_F(PatternsTest, AGlobHasABoundedLengthWhereverOneIsGiven) {
  const std::string longest(1024, 'x');
  const std::string too_long = longest + "x";
  const auto refusal = [](std::string_view name) {
    return "-ERR " + std::string(name) + " pattern must have at most 1024 bytes, got 1025";
  };
  EXPECT_EQ(other_.Say({"KEYS", too_long}), refusal("KEYS"));
  EXPECT_EQ(other_.Say({"SCAN", "0", "MATCH", too_long}), refusal("MATCH"));
  EXPECT_EQ(other_.Say({"LOCKS", "0", "MATCH", too_long}), refusal("MATCH"));
  const std::string limit_refusal = "-ERR pattern must have 1 to 1024 bytes, got 1025";
  EXPECT_EQ(other_.Say({"LIMIT", "SET", too_long, "1"}), limit_refusal);
  EXPECT_EQ(other_.Say({"LIMIT", "DEL", too_long}), limit_refusal);
  EXPECT_EQ(other_.Say({"PSUBSCRIBE", "a*", too_long}), refusal("PSUBSCRIBE"));
  EXPECT_EQ(other_.Say({"PUBSUB", "CHANNELS", too_long}), refusal("PUBSUB CHANNELS"));
  EXPECT_EQ(other_.Say({"PUBSUB", "SHARDCHANNELS", too_long}), refusal("PUBSUB SHARDCHANNELS"));
  EXPECT_EQ(other_.Say({"CONFIG", "GET", too_long}), refusal("CONFIG GET"));
  EXPECT_EQ(other_.Say({"COMMAND", "LIST", "FILTERBY", "PATTERN", too_long}),
            refusal("COMMAND LIST"));
  EXPECT_EQ(other_.Say({"KEYS", longest}), "[]");
  EXPECT_EQ(other_.Say({"LIMIT", "SET", longest, "1"}), "OK");
  EXPECT_EQ(Subscriber().Say({"PSUBSCRIBE", longest}), ">[\"psubscribe\" \"" + longest + "\" 1]");
}

TEST_F(PatternsTest, TheBytesOfAConnectionsPatternsAreBounded) {
  TestClient& client = Subscriber();
  const auto glob_of = [](int i) { return std::to_string(100'000 + i) + std::string(1000, 'x'); };
  const auto [count, refusal] = SubscribeToMany(client, glob_of);
  EXPECT_EQ(count, 521);  // 512 KiB hold this many patterns of 1006 bytes
  EXPECT_EQ(refusal,
            "-FULL the patterns of one connection must have at most 524288 bytes together");
  // A pattern that is already there is not counted twice, and a removed one makes room.
  EXPECT_THAT(client.Say({"PSUBSCRIBE", glob_of(0)}), StartsWith(">"));
  client.Say({"PUNSUBSCRIBE", glob_of(0)});
  EXPECT_THAT(client.Say({"PSUBSCRIBE", glob_of(count)}), StartsWith(">"));
  EXPECT_THAT(Subscriber().Say({"PSUBSCRIBE", glob_of(0)}), StartsWith(">"));
}

TEST_F(PatternsTest, WhatPatternsCostEachMessageIsBoundedForOneConnectionAndForAll) {
  std::vector<int> counts;
  std::vector<std::string> refusals;
  for (int number = 0; number < 6; ++number) {
    const auto glob_of = [number](int i) {
      return std::to_string(10 * i + number) + ":*?" + std::string(50, 'a') + "b*";
    };
    const auto [count, refusal] = SubscribeToMany(Subscriber(), glob_of);
    counts.push_back(count);
    refusals.push_back(refusal);
  }
  EXPECT_EQ(refusals.front(),
            "-FULL the patterns of one connection together would take too long to match against "
            "each message; use fewer patterns with two or more stars");
  EXPECT_THAT(refusals.back(), HasSubstr("the patterns of all connections together"));
  EXPECT_GT(counts.front(), 10);
  EXPECT_EQ(counts.back(), 0);
  EXPECT_LE(server_.parts().channels.all_patterns_cost(), Channels::kAllPatternsCostMax);
  EXPECT_THAT(Subscriber().Say("PSUBSCRIBE order:*"), StartsWith(">"));
}

// Tests events of locks with long keys while costly patterns are subscribed to.
TEST_F(PatternsTest, EventsThatCostMuchComeInLaterTurnsInTheirOrder) {
  TestClient& listener = Subscriber();
  TestClient& costly = Subscriber();
  listener.Say("PSUBSCRIBE __lock@0__:*");
  const auto [count, refusal] = SubscribeToMany(
      costly, [](int i) { return CostlyGlob("__lock@0__:" + std::string(i, 'a')); });
  ASSERT_GT(count, 0);
  constexpr std::size_t kKeys = 40;
  std::vector<std::string> expected;
  std::string request = "MSETNX";
  for (std::size_t i = 0; i < kKeys; ++i) {
    expected.push_back(std::string(1000, 'a') + std::to_string(i));
    request += " " + expected.back() + " o";
  }
  const std::uint64_t before_all = server_.parts().work.total();
  EXPECT_EQ(other_.Say(request), "1");
  EXPECT_LE(server_.parts().work.total() - before_all,
            2 * (Channels::kWorkPerTurn + Channels::kPatternCostMax));
  EXPECT_TRUE(server_.parts().channels.has_deferred());
  std::string heard;
  int turns = 0;
  for (; server_.parts().channels.has_deferred() && turns < 100; ++turns) {
    heard += listener.Hear() + "\n";
    const std::uint64_t before = server_.parts().work.total();
    const bool is_more_due = server_.parts().Advance(server_.now(), 1000);
    EXPECT_EQ(is_more_due, server_.parts().channels.has_deferred());
    EXPECT_LE(server_.parts().work.total() - before,
              Channels::kWorkPerTurn + Channels::kPatternCostMax + 10'000);
  }
  heard += listener.Hear();
  EXPECT_GT(turns, 2);
  std::size_t at = 0;
  for (const std::string& key : expected) {
    const std::size_t found = heard.find("__lock@0__:" + key + "\"", at);
    ASSERT_NE(found, std::string::npos) << key;
    at = found;
  }
}

TEST_F(PatternsTest, OverridesOfLimitMayNotCostEachRequestMuch) {
  const auto glob_of = [](int i) { return std::to_string(i) + "*?" + std::string(20, 'a') + "b*"; };
  int count = 0;
  std::string reply = "OK";
  for (; reply == "OK" && count < 100; ++count) {
    reply = other_.Say({"LIMIT", "SET", glob_of(count), "3"});
  }
  EXPECT_GT(count, 2);
  EXPECT_LT(count, 100);
  EXPECT_THAT(reply, StartsWith("-FULL the patterns of all overrides"));
  EXPECT_EQ(other_.Say("LIMIT SET order:* 3"), "OK");
  // An override that exists already may be changed.
  EXPECT_EQ(other_.Say({"LIMIT", "SET", glob_of(0), "4"}), "OK");
}

class WalksTest : public PatternsTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < kKeys; ++i) {
      other_.Say({"LOCK", std::string(1000, 'a') + std::to_string(i), "o"});
    }
  }
  // Returns an upper bound on the matching that this request does.
  std::uint64_t MatchedAtMost(std::initializer_list<std::string_view> words) {
    const std::uint64_t before = server_.parts().work.total();
    reply_ = other_.Say(words);
    return server_.parts().work.total() - before;
  }

  static constexpr int kKeys = 150;
  // How far the budget may be exceeded: by the locks of one group in the table, and by the lock
  // that is being matched when the budget runs out.
  static constexpr std::uint64_t kBeyond = 40 * 270'000;

  const std::string glob_ = CostlyGlob("");
  std::string reply_;
};

TEST_F(WalksTest, EndAPageByTheWorkDone) {
  for (const std::string_view name : {"SCAN", "LOCKS"}) {
    std::string cursor = "0";
    int pages = 0;
    do {
      EXPECT_LE(MatchedAtMost({name, cursor, "MATCH", glob_, "COUNT", "1000"}),
                GlobWalk::kPageWorkMax + kBeyond);
      const std::size_t begin = reply_.find('"') + 1;
      cursor = reply_.substr(begin, reply_.find('"', begin) - begin);
      ++pages;
    } while (cursor != "0" && pages < 1000);
    EXPECT_GT(pages, 8) << name;
    EXPECT_LT(pages, 1000) << name;
  }
}

TEST_F(WalksTest, AreRefusedWhereTheyAnswerAtOnceOrNotAtAll) {
  EXPECT_LE(MatchedAtMost({"KEYS", glob_}), GlobWalk::kWholeWorkMax + kBeyond);
  EXPECT_THAT(reply_, StartsWith("-ERR KEYS would take too long with this pattern"));
  other_.Say({"KEYS", "*0"});
  EXPECT_LE(MatchedAtMost({"KEYS", "*"}), GlobWalk::kWholeWorkMax);
  EXPECT_THAT(reply_, StartsWith("[\"aaa"));
}

TEST_F(WalksTest, ShareABoundInATransaction) {
  other_.Say("MULTI");
  for (int i = 0; i < 30; ++i) other_.Say({"SCAN", "0", "MATCH", glob_, "COUNT", "1000"});
  EXPECT_LE(MatchedAtMost({"EXEC"}),
            WorkMeter::kTransactionWorkMax + GlobWalk::kPageWorkMax + kBeyond);
  EXPECT_THAT(reply_, HasSubstr("-ERR the commands of this transaction match too many names"));
  // After the transaction, walks work again.
  EXPECT_THAT(other_.Say("KEYS *0"), StartsWith("["));
}

TEST_F(WalksTest, AreChargedWhatTheirUsersPatternsCost) {
  server_.SetUsers("user default on nopass ~* &* +@all\nuser judged on nopass ~" + glob_ +
                   " ~a* +@all\n");
  EXPECT_EQ(other_.Say("AUTH judged x"), "OK");
  const std::uint64_t compared = MatchedAtMost({"SCAN", "0", "COUNT", "1000"});
  EXPECT_GT(compared, GlobWalk::kPageWorkMax);
  EXPECT_LE(compared, GlobWalk::kPageWorkMax + kBeyond);
}

}  // namespace
}  // namespace fairlock::command
