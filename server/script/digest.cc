#include "server/script/digest.h"

#include <boost/uuid/detail/sha1.hpp>

#include "protocol/hexadecimal.h"

namespace fairlock::script {

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

std::string HexOf(const Digest& digest) { return protocol::HexOf(digest.bytes); }

std::optional<Digest> ParseDigest(std::string_view hex) {
  Digest digest;
  if (!protocol::ParseHex(hex, digest.bytes)) return std::nullopt;
  return digest;
}

}  // namespace fairlock::script
