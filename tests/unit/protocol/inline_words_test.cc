#include "protocol/inline_words.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace fairlock::protocol {
namespace {

constexpr RequestLimits kLimits{.arguments_max = 8, .argument_bytes_max = 20};

struct InlineCase {
  std::string_view line;
  std::vector<std::string> words;
};

TEST(InlineWords, AreSplitAsRedisDoes) {
  const std::vector<InlineCase> cases = {
      {"", {}},
      {" \t\r\v\f ", {}},
      {"PING", {"PING"}},
      {"  LOCK \t key   owner  ", {"LOCK", "key", "owner"}},
      {"a\vb c\fd", {"a\vb", "c\fd"}},
      {"\va", {"a"}},
      {R"("")", {""}},
      {R"('' "")", {"", ""}},
      {R"("a b" 'c d')", {"a b", "c d"}},
      {R"(ab"cd")", {"abcd"}},
      {R"(ab'cd')", {"abcd"}},
      {R"("a'b" 'a"b')", {"a'b", "a\"b"}},
      {R"("\n\r\t\b\a")", {"\n\r\t\b\a"}},
      {R"("\\ \" \q")", {"\\ \" q"}},
      {R"("\x41\x6a\xFf")", {"Aj\xff"}},
      {R"("\x4" "\x4g" "\xg4" "\x")", {"x4", "x4g", "xg4", "x"}},
      {R"("\x00")", {std::string(1, '\0')}},
      {R"('\n \\ \' \x41')", {R"(\n \\ ' \x41)"}},
      {R"(\n a\"b")", {"\\n", "a\\b"}},
      {"caf\xc3\xa9 \xff", {"caf\xc3\xa9", "\xff"}},
      {"\"a\"\vb", {"a", "b"}},
  };
  Arguments words;
  for (const InlineCase& expected : cases) {
    EXPECT_EQ(SplitInlineWords(expected.line, kLimits, words), SplitStatus::kSplit)
        << expected.line;
    EXPECT_EQ(std::vector<std::string>(words.begin(), words.end()), expected.words)
        << expected.line;
  }
}

TEST(InlineWords, QuotesMustBeClosedAndEndTheWord) {
  Arguments words;
  for (const std::string_view line :
       {R"(")", R"(')", R"("a)", R"('a)", R"(a")", R"("a"b)", R"('a'b)", R"(""")", R"("\")",
        R"('\')", R"("\)", R"("a" "b)", R"(a"b"c)", R"("a""b")"}) {
    EXPECT_EQ(SplitInlineWords(line, kLimits, words), SplitStatus::kUnbalancedQuotes) << line;
  }
}

TEST(InlineWords, MayNotHoldZeroBytes) {
  Arguments words;
  const std::string line("a \0 b", 5);
  EXPECT_EQ(SplitInlineWords(line, kLimits, words), SplitStatus::kZeroByte);
}

TEST(InlineWords, AreCounted) {
  Arguments words;
  EXPECT_EQ(SplitInlineWords("a b c d e f g h ", kLimits, words), SplitStatus::kSplit);
  EXPECT_EQ(SplitInlineWords("a b c d e f g h i", kLimits, words), SplitStatus::kTooManyWords);
}

TEST(InlineWords, AreMeasuredWithoutTheirQuotes) {
  Arguments words;
  EXPECT_EQ(SplitInlineWords("'12345678901234567890'", kLimits, words), SplitStatus::kSplit);
  EXPECT_EQ(SplitInlineWords("123456789012345678901", kLimits, words), SplitStatus::kTooLongWord);
}

TEST(InlineWords, WithQuotesStayValidBesideEachOther) {
  std::string line;
  std::vector<std::string> expected;
  for (int i = 0; i < 500; ++i) {
    expected.push_back("word " + std::to_string(i));
    line += "'" + expected.back() + "' ";
  }
  Arguments words;
  ASSERT_EQ(SplitInlineWords(line, kDefaultLimits, words), SplitStatus::kSplit);
  EXPECT_EQ(std::vector<std::string>(words.begin(), words.end()), expected);
}

TEST(InlineWords, WithoutQuotesAreViewsIntoTheLine) {
  const std::string line = "LOCK key";
  Arguments words;
  ASSERT_EQ(SplitInlineWords(line, kLimits, words), SplitStatus::kSplit);
  EXPECT_EQ(words[1].data(), line.data() + 5);
}

}  // namespace
}  // namespace fairlock::protocol
