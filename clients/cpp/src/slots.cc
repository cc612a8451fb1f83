#include "slots.h"

#include <array>
#include <cstdint>

namespace fairlock::client {

namespace {

constexpr std::uint32_t kPolynomial = 0x1021;

// The remainders of all single bytes.
constexpr std::array<std::uint16_t, 256> kRemainders = [] {
  std::array<std::uint16_t, 256> remainders{};
  for (std::uint32_t byte = 0; byte < remainders.size(); ++byte) {
    std::uint32_t remainder = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder & 0x8000U) != 0 ? remainder << 1U ^ kPolynomial : remainder << 1U;
    }
    remainders[byte] = static_cast<std::uint16_t>(remainder);
  }
  return remainders;
}();

int Hash(std::string_view bytes) {
  std::uint16_t crc = 0;
  for (const char c : bytes) {
    const auto index = static_cast<std::uint8_t>(crc >> 8U ^ static_cast<unsigned char>(c));
    crc = static_cast<std::uint16_t>(crc << 8U ^ kRemainders[index]);
  }
  return crc % kSlots;
}

std::string_view HashedPart(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return key;
  const auto close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

// A number as text.
std::string FindTag(int slot) {
  for (int number = 0;; ++number) {
    auto text = std::to_string(number);
    if (Hash(text) == slot) return text;
  }
}

}  // namespace

int SlotOf(std::string_view key) { return Hash(HashedPart(key)); }

std::string ChannelFor(std::string_view key, const std::string& id) {
  std::string tag(HashedPart(key));
  // Braces around such a tag would not mark it as the tag.
  if (tag.empty() || tag.find('}') != std::string::npos) tag = FindTag(SlotOf(key));
  return "fairlock:{" + tag + "}:" + id;
}

}  // namespace fairlock::client
