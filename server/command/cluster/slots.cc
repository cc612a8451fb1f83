#include "server/command/cluster/slots.h"

#include <array>

#include "server/access/digest.h"

namespace fairlock::command {

namespace {

constexpr std::uint16_t kPolynomial = 0x1021;

// The remainders of all single bytes.
constexpr std::array<std::uint16_t, 256> kRemainders = [] {
  std::array<std::uint16_t, 256> remainders{};
  for (std::uint32_t byte = 0; byte < remainders.size(); ++byte) {
    std::uint32_t remainder = byte << 8;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder & 0x8000) != 0 ? remainder << 1 ^ kPolynomial : remainder << 1;
    }
    remainders[byte] = static_cast<std::uint16_t>(remainder);
  }
  return remainders;
}();

std::uint16_t Crc16(std::string_view bytes) {
  std::uint16_t crc = 0;
  for (const char c : bytes) {
    const auto index = static_cast<std::uint8_t>(crc >> 8 ^ static_cast<unsigned char>(c));
    crc = static_cast<std::uint16_t>(crc << 8 ^ kRemainders[index]);
  }
  return crc;
}

// The part of the key that determines its slot.
std::string_view HashedPart(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

std::uint16_t SlotOf(std::string_view key) { return Crc16(HashedPart(key)) % kHashSlots; }

std::string NodeId(std::string_view fleet, std::string_view node) {
  constexpr std::size_t kDigits = 40;
  const std::string name = std::string(fleet).append("/").append(node);
  return access::HexOf(access::DigestOf(name)).substr(0, kDigits);
}

}  // namespace fairlock::command
