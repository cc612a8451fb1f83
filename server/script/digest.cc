#include "server/script/digest.h"

#include <boost/uuid/detail/sha1.hpp>

namespace fairlock::script {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// The value of the digit, or -1.
int ValueOf(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

Digest DigestOf(std::string_view bytes) {
  boost::uuids::detail::sha1 sha1;
  sha1.process_bytes(bytes.data(), bytes.size());
  boost::uuids::detail::sha1::digest_type words;
  sha1.get_digest(words);
  Digest digest;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    digest.bytes[i] = static_cast<std::uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string HexOf(const Digest& digest) {
  std::string hex;
  for (const std::uint8_t byte : digest.bytes) {
    hex.append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return hex;
}

std::optional<Digest> ParseDigest(std::string_view hex) {
  Digest digest;
  if (hex.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = ValueOf(hex[2 * i]);
    const int low = ValueOf(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

}  // namespace fairlock::script
