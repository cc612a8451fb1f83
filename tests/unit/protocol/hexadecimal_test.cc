#include "protocol/hexadecimal.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace fairlock::protocol {
namespace {

using Bytes = std::array<std::uint8_t, 4>;

TEST(Hexadecimal, IsWrittenInLowerCase) {
  EXPECT_EQ(HexOf(Bytes{0x00, 0x0f, 0xa0, 0xff}), "000fa0ff");
  EXPECT_EQ(HexOf({}), "");
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

}  // namespace
}  // namespace fairlock::protocol
