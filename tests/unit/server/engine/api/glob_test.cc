#include "server/engine/api/glob.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>
#include <vector>

namespace fairlock::engine {
namespace {

// One element of a pattern: how it is written, and which of a, b and * it matches.
struct Element {
  std::string written;
  std::string takes;  // empty if it is a star
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

// Whether the set after '[' matches the byte; moves `glob` past its ']'.
bool TakesPlainly(std::string_view& glob, char byte) {
  const bool is_negated = glob.starts_with('^');
  if (is_negated) glob.remove_prefix(1);
  bool is_in_set = false;
  while (!glob.empty() && glob.front() != ']') {
    if (glob.front() == '\\' && glob.size() > 1) glob.remove_prefix(1);
    const char one = glob.front();
    char other = one;
    glob.remove_prefix(1);
    if (glob.size() > 1 && glob[0] == '-' && glob[1] != ']') {
      other = glob[1];
      glob.remove_prefix(2);
    }
    is_in_set |= std::min(one, other) <= byte && byte <= std::max(one, other);
  }
  if (!glob.empty()) glob.remove_prefix(1);
  return is_in_set != is_negated;
}

// A simple matcher that compares byte by byte and recurses at each star.
bool MatchesPlainly(std::string_view glob, std::string_view text) {
  while (!glob.empty()) {
    const char first = glob.front();
    glob.remove_prefix(1);
    if (first == '*') {
      for (std::size_t i = 0; i <= text.size(); ++i) {
        if (MatchesPlainly(glob, text.substr(i))) return true;
      }
      return false;
    }
    if (text.empty()) return false;
    const char byte = text.front();
    text.remove_prefix(1);
    if (first == '[') {
      if (!TakesPlainly(glob, byte)) return false;
    } else if (first == '\\' && !glob.empty()) {
      if (glob.front() != byte) return false;
      glob.remove_prefix(1);
    } else if (first != '?' && first != byte) {
      return false;
    }
  }
  return text.empty();
}

TEST(Glob, MatchesAnyBytesAsAPlainImplementationDoes) {
  std::mt19937 random(2);
  const std::string_view glob_bytes("*?[]^-\\ab\x00\xff*[a", 15);
  const std::string_view text_bytes("ab]-\\^\x00\xff", 8);
  int matched = 0;
  for (int round = 0; round < 300'000; ++round) {
    std::string glob;
    std::string text;
    for (std::size_t n = random() % 10; n > 0; --n) glob += glob_bytes[random() % 15];
    for (std::size_t n = random() % 8; n > 0; --n) text += text_bytes[random() % 8];
    const bool expected = MatchesPlainly(glob, text);
    const Glob parsed(glob);
    std::uint64_t compared = 0;
    ASSERT_EQ(parsed.Matches(text, compared), expected)
        << testing::PrintToString(glob) << " on " << testing::PrintToString(text);
    ASSERT_LE(compared, parsed.CostMax(text.size())) << testing::PrintToString(glob);
    ASSERT_LE(compared, (glob.size() + 1) * (text.size() + 1)) << testing::PrintToString(glob);
    ASSERT_TRUE(!expected || text.starts_with(parsed.head())) << testing::PrintToString(glob);
    matched += expected ? 1 : 0;
  }
  EXPECT_GT(matched, 10'000);
}

std::string Repeated(std::string_view part, std::size_t bytes) {
  std::string text;
  while (text.size() + part.size() <= bytes) text += part;
  return text;
}

// Each of these would take almost for ever in a matcher that backtracks, or that parses a set again
// at each byte.
TEST(Glob, ComparesAtMostTextTimesGlob) {
  const std::string set = "[" + std::string(1000, 'b') + "]";
  const std::vector<std::string> globs = {
      "*" + set,
      "*" + set + "*",
      "*" + set + "*" + set,
      "*" + Repeated("[a-z]", 1000) + "b*",
      "*" + std::string(512, 'a') + "b*",
      "*" + std::string(512, 'a') + "b",
      "*" + std::string(512, '?') + "b*",
      "*?" + std::string(500, 'a') + "b*",
      "*" + Repeated("a*", 1000) + "b",
      "*" + Repeated("a?*", 1000) + "b*c",
      "*" + Repeated("ab*", 1000) + "c*",
      std::string(1023, '*') + "b",
      "*" + std::string(500, 'a') + "[^a]*" + std::string(500, 'a') + "b*",
  };
  for (const std::string& text : {std::string(1024, 'a'), std::string(1024, 'b'),
                                  std::string(1023, 'a') + "b", Repeated("ab", 1024)}) {
    for (const std::string& glob : globs) {
      const Glob parsed(glob);
      std::uint64_t compared = 0;
      parsed.Matches(text, compared);
      EXPECT_LE(compared, parsed.CostMax(text.size())) << glob;
      // A longer literal part costs more at each position, but fits at fewer positions of the text.
      EXPECT_LE(compared, 300'000U) << glob;
    }
  }
}

TEST(Glob, OneStarComparesNoMoreThanItsElements) {
  for (const std::string_view glob : {"__lock@0__:order:*", "*:end", "a*b", "order:17"}) {
    std::uint64_t compared = 0;
    Glob(glob).Matches(std::string(1024, 'a'), compared);
    EXPECT_LE(compared, glob.size()) << glob;
    EXPECT_LE(Glob(glob).CostMax(1024), glob.size()) << glob;
  }
}

TEST(Glob, KnowsWhetherOneTextMatchesAndHowMuchIsLiteral) {
  EXPECT_TRUE(Glob("order:42").is_exact());
  EXPECT_EQ(Glob("order:42").literal_bytes(), 8U);
  EXPECT_TRUE(Glob(R"(a\*b)").is_exact());
  EXPECT_EQ(Glob(R"(a\*b)").literal_bytes(), 3U);
  EXPECT_FALSE(Glob("order:*").is_exact());
  EXPECT_EQ(Glob("order:*").literal_bytes(), 6U);
  EXPECT_FALSE(Glob("a?c").is_exact());
  EXPECT_FALSE(Glob("a[xyz]c").is_exact());
  EXPECT_EQ(Glob("a[xyz]c").literal_bytes(), 2U);
}

TEST(Glob, KnowsWhatAllThatMatchesBeginsWith) {
  EXPECT_EQ(Glob("order:*").head(), "order:");
  EXPECT_EQ(Glob("a?c").head(), "a");
  EXPECT_EQ(Glob(R"(a\*b[c])").head(), "a*b");
  EXPECT_EQ(Glob("*a").head(), "");
  EXPECT_EQ(Glob("a").head(), "a");
}

// A user's rule with a star is checked at each request, so it must not cost much.
TEST(Glob, AStarCostsNoLookAtEachCharacter) {
  const std::string text(1024, 'k');
  const std::string half(512, 'k');
  const Glob all("*");
  const Glob begin(half + "*");
  const Glob end("*" + half);
  const Glob other("*x");
  // This measures processor time, because other programs may be running.
  const std::clock_t began = std::clock();
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(all.Matches(text));
    ASSERT_TRUE(begin.Matches(text));
    ASSERT_TRUE(end.Matches(text));
    ASSERT_FALSE(other.Matches(text));
  }
  // Matching character by character would take 50 times as long.
  EXPECT_LT(std::clock() - began, 2 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace fairlock::engine
