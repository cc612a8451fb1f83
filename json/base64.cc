#include "json/base64.h"

#include <cstdint>

namespace fairlock::json {

void AppendBase64(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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

}  // namespace fairlock::json
