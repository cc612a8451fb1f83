#include "text/hexadecimal.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairlock::text {
namespace {

using Bytes = std::array<std::uint8_t, 4>;

TEST(Hexadecimal, IsWrittenInLowerCase) {
  EXPECT_EQ(HexOf(Bytes{0x00, 0x0f, 0xa0, 0xff}), "000fa0ff");
  EXPECT_EQ(HexOf(std::string_view("\0\x0f\xa0\xff", 4)), "000fa0ff");
  EXPECT_EQ(HexOf(std::string_view()), "");
}

TEST(Hexadecimal, IsReadInEitherCase) {
  Bytes read{};
  EXPECT_TRUE(ParseHex("09aFAf90", read));
  EXPECT_EQ(read, (Bytes{0x09, 0xaf, 0xaf, 0x90}));
}

TEST(Hexadecimal, EveryByteComesBack) {
  for (int value = 0; value < 256; ++value) {
    const std::array<std::uint8_t, 1> byte = {static_cast<std::uint8_t>(value)};
    std::array<std::uint8_t, 1> read = {static_cast<std::uint8_t>(~value)};
    ASSERT_TRUE(ParseHex(HexOf(byte), read));
    ASSERT_EQ(read, byte);
  }
}

TEST(Hexadecimal, AnythingElseIsRefused) {
  Bytes read{};
  for (const char* digits :
       {"", "000fa0f", "000fa0ff0", "000fa0fg", "000fa0 f", "/00fa0ff", ":00fa0ff"}) {
    EXPECT_FALSE(ParseHex(digits, read)) << digits;
  }
}

TEST(Hexadecimal, NumbersHaveZerosInFront) {
  EXPECT_EQ(HexOf(0x1a2b, 6), "001a2b");
  EXPECT_EQ(HexOf(~std::uint64_t{0}, 16), "ffffffffffffffff");
  EXPECT_EQ(HexOf(0x1a2b, 2), "2b");
}

TEST(Escapes, OfEveryByte) {
  for (int value = 0; value < 256; ++value) {
    const char byte = static_cast<char>(value);
    const bool is_shown = value >= ' ' && value <= '~' && byte != '\'';
    const std::string hex = "\\x" + HexOf(std::string_view(&byte, 1));
    EXPECT_EQ(Escaped({&byte, 1}, "'"), is_shown ? std::string(1, byte) : hex);
    std::string escape;
    AppendEscape(escape, byte);
    const std::string named = byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : "\\t";
    EXPECT_EQ(escape, byte == '\n' || byte == '\r' || byte == '\t' ? named : hex);
  }
}

}  // namespace
}  // namespace fairlock::text
