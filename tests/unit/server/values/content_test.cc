// The four types: their order, and how their size is counted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "server/values/hash.h"
#include "server/values/list.h"
#include "server/values/set.h"
#include "server/values/sorted_set.h"

namespace fairlock::values {
namespace {

using testing::ElementsAre;

std::vector<std::string> NamesIn(const Hash& hash) {
  std::vector<std::string> names;
  for (const Hash::Field& field : hash.fields()) names.push_back(field.name);
  return names;
}

std::vector<std::string> NamesIn(const SortedSet& set) {
  std::vector<std::string> names;
  for (const SortedSet::Member& member : set.members()) names.push_back(member.name);
  return names;
}

std::vector<std::string> MembersOf(const Set& set) {
  const auto members = set.members();
  return {members.begin(), members.end()};
}

TEST(Hash, KeepsTheOrderInWhichFieldsWereCreated) {
  Hash hash;
  EXPECT_TRUE(hash.Set("b", "1"));
  EXPECT_TRUE(hash.Set("a", "2"));
  EXPECT_TRUE(hash.Set("c", "3"));
  EXPECT_FALSE(hash.Set("b", "longer"));
  EXPECT_THAT(NamesIn(hash), ElementsAre("b", "a", "c"));
  EXPECT_EQ(*hash.Find("b"), "longer");
  EXPECT_EQ(hash.Find("d"), nullptr);
  EXPECT_EQ(hash.bytes(), 3 * (1 + kElementBytes) + 6 + 1 + 1);
  EXPECT_TRUE(hash.Erase("b"));
  EXPECT_FALSE(hash.Erase("b"));
  EXPECT_THAT(NamesIn(hash), ElementsAre("a", "c"));
  hash.Erase("a");
  hash.Erase("c");
  EXPECT_EQ(hash.bytes(), 0U);
}

TEST(List, HasTwoEnds) {
  List list;
  list.Push(ListEnd::kRight, "b");
  list.Push(ListEnd::kRight, "c");
  list.Push(ListEnd::kLeft, "a");
  EXPECT_THAT(list.elements(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(list.bytes(), 3 * (1 + kElementBytes));
  list.Erase(1);
  EXPECT_EQ(list.Pop(ListEnd::kRight), "c");
  EXPECT_EQ(list.Pop(ListEnd::kLeft), "a");
  EXPECT_EQ(list.bytes(), 0U);
}

TEST(SortedSet, IsOrderedByScoreAndThenByMember) {
  SortedSet set;
  set.Set("b", 1);
  set.Set("c", -std::numeric_limits<double>::infinity());
  set.Set("a", 1);
  EXPECT_THAT(NamesIn(set), ElementsAre("c", "a", "b"));
  EXPECT_FALSE(set.Set("c", 2));
  EXPECT_THAT(NamesIn(set), ElementsAre("a", "b", "c"));
  EXPECT_EQ(set.RankOf("c"), 2U);
  EXPECT_EQ(set.ScoreOf("c"), 2.0);
  EXPECT_EQ(set.RankOf("d"), std::nullopt);
  EXPECT_EQ(set.bytes(), 3 * (1 + kElementBytes));
  set.EraseRanks(0, 2);
  EXPECT_THAT(NamesIn(set), ElementsAre("c"));
  EXPECT_TRUE(set.Erase("c"));
  EXPECT_FALSE(set.Erase("c"));
  EXPECT_EQ(set.bytes(), 0U);
}

TEST(SortedSet, HasNoNegativeZero) {
  SortedSet set;
  set.Set("a", -0.0);
  EXPECT_FALSE(std::signbit(*set.ScoreOf("a")));
  set.Set("a", -1);
  set.Set("a", -0.0);
  EXPECT_FALSE(std::signbit(*set.ScoreOf("a")));
}

TEST(Set, IsInAscendingOrderWhileItHasOnlyNumbers) {
  Set set;
  for (const char* member : {"10", "-2", "9", "10"}) set.Add(member);
  EXPECT_THAT(set.members(), ElementsAre("-2", "9", "10"));
  EXPECT_TRUE(set.Add("x"));
  EXPECT_TRUE(set.Add("1"));
  EXPECT_THAT(set.members(), ElementsAre("-2", "9", "10", "x", "1"));
  EXPECT_EQ(set.bytes(), 2 + 1 + 2 + 1 + 1 + 5 * kElementBytes);
  EXPECT_TRUE(set.Erase("9"));
  EXPECT_FALSE(set.Has("9"));
  EXPECT_EQ(set.EraseAt(0), "-2");
}

// Random names, many of them twice.
class ManyNames : public testing::TestWithParam<int> {
 protected:
  std::vector<std::string_view> Some(std::size_t count) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < count; ++i) names.emplace_back(all_[random_() % all_.size()]);
    return names;
  }

  std::mt19937 random_{static_cast<unsigned>(GetParam())};
  std::vector<std::string> all_ = {"a", "b", "c", "dd", "e", "", "1", "20", "-3", "007", "f", "g"};
};

TEST_P(ManyNames, InAHashHaveTheEffectOfOneAfterTheOther) {
  Hash hash;
  Hash expected;
  for (int round = 0; round < 50; ++round) {
    const auto pairs = Some(2 * (random_() % 12));
    const std::size_t before = expected.size();
    for (std::size_t i = 0; i < pairs.size(); i += 2) expected.Set(pairs[i], pairs[i + 1]);
    EXPECT_EQ(hash.SetAll(pairs), expected.size() - before);
    const auto wanted = Some(random_() % 12);
    const auto found = hash.FindAll(wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::string* each = expected.Find(wanted[i]);
      ASSERT_EQ(found[i] == nullptr, each == nullptr);
      if (each != nullptr) {
        EXPECT_EQ(*found[i], *each);
      }
    }
    std::size_t erased = 0;
    const auto unwanted = Some(random_() % 12);
    for (const std::string_view name : unwanted) erased += expected.Erase(name) ? 1 : 0;
    EXPECT_EQ(hash.EraseAll(unwanted), erased);
    EXPECT_EQ(NamesIn(hash), NamesIn(expected));
    EXPECT_EQ(hash.bytes(), expected.bytes());
  }
}

TEST_P(ManyNames, InASetHaveTheEffectOfOneAfterTheOther) {
  Set set;
  Set expected;
  for (int round = 0; round < 50; ++round) {
    std::size_t added = 0;
    const auto wanted = Some(random_() % 12);
    for (const std::string_view name : wanted) added += expected.Add(name) ? 1 : 0;
    EXPECT_EQ(set.AddAll(wanted), added);
    std::size_t erased = 0;
    const auto unwanted = Some(random_() % 12);
    for (const std::string_view name : unwanted) erased += expected.Erase(name) ? 1 : 0;
    EXPECT_EQ(set.EraseAll(unwanted), erased);
    EXPECT_EQ(MembersOf(set), MembersOf(expected));
    EXPECT_EQ(set.bytes(), expected.bytes());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ManyNames, testing::Range(0, 10));

TEST(ParsePlainNumber, AcceptsOnlyOneForm) {
  EXPECT_EQ(ParsePlainNumber("0"), 0);
  EXPECT_EQ(ParsePlainNumber("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "-", "+1", "01", "-0", "1 ", "9223372036854775808", "1.0", "0x1"}) {
    EXPECT_EQ(ParsePlainNumber(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fairlock::values
