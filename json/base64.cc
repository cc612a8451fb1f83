#include "json/base64.h"

#include <array>
#include <cstdint>

namespace fairlock::json {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

void AppendBase64(std::string& out, std::string_view bytes) {
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
}

std::string Base64(std::string_view bytes) {
  std::string out;
  AppendBase64(out, bytes);
  return out;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t bits = 0;
    for (const char digit : text.substr(i, 4)) {
      const std::size_t value = digit == '=' ? 0 : kDigits.find(digit);
      if (value == std::string_view::npos) return std::nullopt;
      bits = bits << 6 | static_cast<std::uint32_t>(value);
    }
    for (const int shift : {16, 8, 0}) out += static_cast<char>(bits >> shift & 255);
  }
  for (std::size_t i = 1; i <= 2 && text.size() >= i && text[text.size() - i] == '='; ++i) {
    out.pop_back();
  }
  // Rejects any other encoding, such as one with missing characters, misplaced '=' or nonzero
  // unused bits.
  return Base64(out) == text ? std::optional(out) : std::nullopt;
}

}  // namespace fairlock::json
