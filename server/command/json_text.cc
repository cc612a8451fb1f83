#include "server/command/json_text.h"

#include <algorithm>
#include <cstdint>

namespace fairlock::command {

namespace {

constexpr std::string_view kReplacement = "\\ufffd";

bool IsBetween(char byte, unsigned low, unsigned high) {
  const auto value = static_cast<unsigned char>(byte);
  return value >= low && value <= high;
}

// How many bytes the character at the front has, which is not ASCII; 0: there is none. RFC 3629,
// so neither longer than necessary, nor a surrogate, nor above U+10FFFF.
std::size_t CharacterBytes(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
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

void AppendControl(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(c);
  out.append("\\u00").append(1, kHex[value >> 4]).append(1, kHex[value & 15]);
}

}  // namespace

bool AppendJsonText(std::string& out, std::string_view bytes) {
  bool is_faithful = true;
  out += '"';
  while (!bytes.empty()) {
    const char c = bytes.front();
    std::size_t size = 1;
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (IsBetween(c, 0, 0x1f)) {
      AppendControl(out, c);
    } else if (IsBetween(c, 0x20, 0x7f)) {
      out += c;
    } else if (const std::size_t whole = CharacterBytes(bytes); whole > 0) {
      out.append(bytes.substr(0, whole));
      size = whole;
    } else {
      out.append(kReplacement);
      is_faithful = false;
    }
    bytes.remove_prefix(size);
  }
  out += '"';
  return is_faithful;
}

void AppendBase64(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out += '"';
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view three = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < three.size() ? static_cast<unsigned char>(three[j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= three.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
  out += '"';
}

}  // namespace fairlock::command
