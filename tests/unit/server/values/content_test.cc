// The four types: their order, and how their size is counted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
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
  EXPECT_TRUE(set.Set("b", 1));
  EXPECT_TRUE(set.Set("c", -std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(set.Set("a", 1));
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

TEST(ParsePlainNumber, AcceptsOnlyOneForm) {
  EXPECT_EQ(ParsePlainNumber("0"), 0);
  EXPECT_EQ(ParsePlainNumber("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "-", "+1", "01", "-0", "1 ", "9223372036854775808", "1.0", "0x1"}) {
    EXPECT_EQ(ParsePlainNumber(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace fairlock::values
