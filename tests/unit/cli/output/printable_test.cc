#include "cli/output/printable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <string>

namespace fairlock::cli {
namespace {

using namespace std::string_view_literals;

class PrintableText8 : public testing::Test {
 protected:
  void SetUp() override {
    // The width of a character depends on the locale; Debian always has this one.
    ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
  }
  void TearDown() override { std::setlocale(LC_CTYPE, "C"); }
};

TEST(Printable, LeavesPlainTextAlone) {
  EXPECT_EQ(Printable("order:42 {\"a\":1}", Charset::kAscii), "order:42 {\"a\":1}");
}

TEST(Printable, ControlCharactersAndEscapesAreWrittenOut) {
  EXPECT_EQ(Printable("a\x1b[31mb\x07\n\r\t\x7f\0c"sv, Charset::kUtf8),
            "a\\x1b[31mb\\x07\\n\\r\\t\\x7f\\x00c");
  EXPECT_EQ(Printable("a\\b", Charset::kUtf8), "a\\\\b");
  EXPECT_EQ(PrintableText("'a\\x1b'\x1b", Charset::kUtf8), "'a\\x1b'\\x1b");
}

TEST_F(PrintableText8, CharactersThatHideOrTurnTheirNeighboursAreWrittenOut) {
  EXPECT_EQ(Printable("a\u202eb\u200bc\ufeff\u0085", Charset::kUtf8),
            "a\\u{202e}b\\u{200b}c\\u{feff}\\u{85}");
}

TEST_F(PrintableText8, InvisibleCharactersOfAllKindsAreWrittenOut) {
  for (const char32_t code : {0x80, 0x9b, 0x9f, 0xad, 0x34f, 0x61c, 0x115f, 0x180e, 0x200d, 0x2028,
                              0x2066, 0x3164, 0xfe0f, 0xffa0, 0xfff9, 0x1d173, 0xe0041}) {
    std::string text = "a";
    if (code < 0x800) {
      text += static_cast<char>(0xc0 | code >> 6);
    } else if (code < 0x10000) {
      text += static_cast<char>(0xe0 | code >> 12);
      text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    } else {
      text += static_cast<char>(0xf0 | code >> 18);
      text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
      text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    }
    text += static_cast<char>(0x80 | (code & 0x3f));
    EXPECT_THAT(Printable(text, Charset::kUtf8), testing::StartsWith("a\\u{"))
        << std::hex << static_cast<int>(code);
    EXPECT_THAT(PrintableJson(text, Charset::kUtf8), testing::StartsWith("a\\u"))
        << static_cast<int>(code);
  }
}

TEST_F(PrintableText8, JsonSaysTheSameWithEscapes) {
  EXPECT_EQ(PrintableJson("{\"k\":\"a\u009b2J\u202e ü 鍵\"}\n", Charset::kUtf8),
            "{\"k\":\"a\\u009b2J\\u202e ü 鍵\"}\n");
  EXPECT_EQ(PrintableJson("\U000e0041\x7f\xff", Charset::kUtf8), "\\udb40\\udc41\\u007f\\ufffd");
  EXPECT_EQ(PrintableJson("ü", Charset::kAscii), "\\u00fc");
  EXPECT_EQ(PrintableJson("\\u001b\\n", Charset::kUtf8), "\\u001b\\n");
}

TEST_F(PrintableText8, OtherAlphabetsStayWhereTheTerminalHasThem) {
  EXPECT_EQ(Printable("schlüssel 鍵 e\u0301", Charset::kUtf8), "schlüssel 鍵 e\u0301");
  EXPECT_EQ(Printable("ü鍵", Charset::kAscii), "\\u{fc}\\u{9375}");
}

TEST_F(PrintableText8, WhatIsNotUtf8IsWrittenAsBytes) {
  // These are, in order, a lone byte, a truncated character, an overlong one, a surrogate, and a
  // character beyond Unicode.
  EXPECT_EQ(Printable("\xff|\xc3|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80", Charset::kUtf8),
            "\\xff|\\xc3|\\xc0\\xaf|\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80");
}

TEST_F(PrintableText8, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc", Charset::kUtf8), 3U);
  EXPECT_EQ(DisplayWidth("ü鍵", Charset::kUtf8), 3U);
  EXPECT_EQ(DisplayWidth("e\u0301", Charset::kUtf8), 1U);
}

TEST_F(PrintableText8, CutTextFitsAndEndsWithAnEllipsis) {
  EXPECT_EQ(CutToWidth("abcdef", 6, Charset::kUtf8), "abcdef");
  EXPECT_EQ(CutToWidth("abcdef", 5, Charset::kUtf8), "abcd…");
  EXPECT_EQ(CutToWidth("鍵鍵鍵", 4, Charset::kUtf8), "鍵…");
  EXPECT_EQ(CutToWidth("abcdef", 1, Charset::kUtf8), "…");
  EXPECT_EQ(CutToWidth("abcdef", 5, Charset::kAscii), "ab...");
  EXPECT_EQ(CutToWidth("abcdef", 2, Charset::kAscii), "..");
  EXPECT_EQ(CutToWidth("abcdef", 0, Charset::kUtf8), "");
}

TEST(Printable, QuotedTextIsCutByBytes) {
  EXPECT_EQ(Quoted("a\nb"), "'a\\nb'");
  EXPECT_EQ(Quoted(std::string(100, 'x'), Charset::kAscii, 3), "'xxx...'");
}

}  // namespace
}  // namespace fairlock::cli
