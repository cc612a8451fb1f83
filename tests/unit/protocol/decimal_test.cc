#include "protocol/decimal.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>

namespace fairlock::protocol {
namespace {

// Writing a number may overwrite the bytes after its digits, but only as far as documented.
void ExpectAsText(std::uint64_t number) {
  constexpr char kUntouched = '#';
  const std::string expected = std::to_string(number);
  std::array<char, kDecimalDigitsMax + kDecimalSlackBytes + 1> bytes;
  bytes.fill(kUntouched);
  const char* end = WriteDecimal(bytes.data(), number);
  ASSERT_EQ(std::string_view(bytes.data(), end), expected);
  ASSERT_EQ(bytes[expected.size() + kDecimalSlackBytes], kUntouched) << number;
}

TEST(ProtocolDecimal, EveryLengthBeginsAndEndsRight) {
  std::uint64_t power = 1;
  for (std::size_t digits = 1; digits <= kDecimalDigitsMax; ++digits, power *= 10) {
    for (const std::uint64_t number : {power - 1, power, power + 1, power * 9, power * 9 + 9}) {
      ExpectAsText(number);
    }
  }
  ExpectAsText(std::numeric_limits<std::uint64_t>::max());
  ExpectAsText(std::numeric_limits<std::int64_t>::max());
}

TEST(ProtocolDecimal, AllUpToAMillion) {
  for (std::uint64_t number = 0; number < 1'000'000; ++number) ExpectAsText(number);
}

TEST(ProtocolDecimal, AnyNumberOfAnyLength) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000'000; ++i) ExpectAsText(random() >> i % 64);
}

}  // namespace
}  // namespace fairlock::protocol
