#include "tests/simulation/shortener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace fairlock::simulation {
namespace {

using Indices = std::vector<std::size_t>;

Indices Range(std::size_t count) {
  Indices indices(count);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

bool Contains(const Indices& indices, std::size_t index) {
  return std::ranges::find(indices, index) != indices.end();
}

TEST(Shortener, FindsTheStepsThatMatterTogether) {
  const auto fails = [](const Indices& some) {
    return Contains(some, 3) && Contains(some, 500) && Contains(some, 998);
  };
  EXPECT_EQ(Shorten(Range(1000), 10'000, fails), (Indices{3, 500, 998}));
}

TEST(Shortener, LeavesAListWhoseEveryStepMatters) {
  const auto fails = [](const Indices& some) { return some.size() == 8; };
  EXPECT_EQ(Shorten(Range(8), 10'000, fails), Range(8));
}

TEST(Shortener, LeavesNothingWhenNoStepMatters) {
  EXPECT_EQ(Shorten(Range(100), 10'000, [](const Indices&) { return true; }), Indices{});
}

TEST(Shortener, StopsWhenItsAttemptsAreUsedUp) {
  std::size_t attempts = 0;
  const auto fails = [&](const Indices& some) {
    ++attempts;
    return Contains(some, 7);
  };
  const Indices shortened = Shorten(Range(1'000'000), 5, fails);
  EXPECT_LE(attempts, 5U);
  EXPECT_TRUE(Contains(shortened, 7));
}

TEST(Shortener, KeepsTheOrderOfTheSteps) {
  const auto fails = [](const Indices& some) { return some.size() >= 5; };
  const Indices shortened = Shorten(Range(40), 10'000, fails);
  EXPECT_EQ(shortened.size(), 5U);
  EXPECT_TRUE(std::ranges::is_sorted(shortened));
}

TEST(Indices, AreWrittenAsRangesAndReadBack) {
  const Indices indices = {0, 3, 4, 5, 9, 11, 12};
  EXPECT_EQ(FormatIndices(indices), "0,3-5,9,11-12");
  EXPECT_EQ(ParseIndices("0,3-5,9,11-12"), indices);
}

TEST(Indices, AreNotReadFromAnythingElse) {
  for (const char* text :
       {"", ",", "1,", "1,,2", "5-3", "a", "1-", "-1", "1 2", "1..3", "99999999999999999999"}) {
    EXPECT_THAT(ParseIndices(text), testing::IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace fairlock::simulation
