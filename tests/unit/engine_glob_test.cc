#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "server/engine/glob.h"

namespace fairlock::engine {
namespace {

// One element of a pattern: what it is written as, and which of a, b and * it takes.
struct Element {
  std::string written;
  std::string takes;  // empty: it is a star
};

const std::vector<Element> kElements = {
    {"a", "a"},   {"b", "b"},     {"*", ""},       {"?", "ab*"},     {"[ab]", "ab"},
    {"\\*", "*"}, {"[^a]", "b*"}, {"[b-a]", "ab"}, {"[\\*b]", "*b"},
};

bool MatchesNaively(const Element* element, const Element* end, std::string_view text) {
  if (element == end) return text.empty();
  if (element->takes.empty()) {
    return MatchesNaively(element + 1, end, text) ||
           (!text.empty() && MatchesNaively(element, end, text.substr(1)));
  }
  return !text.empty() && element->takes.find(text.front()) != std::string::npos &&
         MatchesNaively(element + 1, end, text.substr(1));
}

TEST(Glob, MatchesWhatASearchOfAllPossibilitiesMatches) {
  std::mt19937 random(1);
  int matched = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::vector<Element> elements;
    std::string pattern;
    for (std::size_t count = random() % 7; count > 0; --count) {
      elements.push_back(kElements[random() % kElements.size()]);
      pattern += elements.back().written;
    }
    std::string text;
    for (std::size_t count = random() % 8; count > 0; --count) text += "ab*"[random() % 3];
    const bool expected = MatchesNaively(elements.data(), elements.data() + elements.size(), text);
    ASSERT_EQ(MatchesGlob(pattern, text), expected) << pattern << " on " << text;
    matched += expected ? 1 : 0;
  }
  EXPECT_GT(matched, 10'000);
}

TEST(Glob, AnUnfinishedSetOrEscapeEndsWithThePattern) {
  EXPECT_TRUE(MatchesGlob("*[a", "ba"));
  EXPECT_FALSE(MatchesGlob("*[a", "ab"));
  EXPECT_TRUE(MatchesGlob("a\\", "a\\"));
  EXPECT_FALSE(MatchesGlob("*\\", "ab"));
}

// A rule with a star is looked at for each request.
TEST(Glob, AStarCostsNoLookAtEachCharacter) {
  const std::string text(1024, 'k');
  const std::string half(512, 'k');
  // Of the processor: others may use it too.
  const std::clock_t began = std::clock();
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(MatchesGlob("*", text));
    ASSERT_TRUE(MatchesGlob(half + "*", text));
    ASSERT_TRUE(MatchesGlob("*" + half, text));
    ASSERT_FALSE(MatchesGlob("*x", text));
  }
  // Character by character it takes 50 times as long.
  EXPECT_LT(std::clock() - began, 2 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace fairlock::engine
