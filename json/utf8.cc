#include "json/utf8.h"

#include <algorithm>

namespace fairlock::json {

namespace {

bool IsBetween(char byte, unsigned low, unsigned high) {
  const auto value = static_cast<unsigned char>(byte);
  return value >= low && value <= high;
}

}  // namespace

std::size_t Utf8CharacterBytes(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  if (lead < 0x80) return 1;
  std::size_t size = 0;
  unsigned low = 0x80;
  unsigned high = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    size = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    size = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    size = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  }
  if (size == 0 || bytes.size() < size || !IsBetween(bytes[1], low, high)) return 0;
  const std::string_view tail = bytes.substr(2, size - 2);
  const bool is_whole =
      std::all_of(tail.begin(), tail.end(), [](char byte) { return IsBetween(byte, 0x80, 0xbf); });
  return is_whole ? size : 0;
}

}  // namespace fairlock::json
