#include "server/script/digest.h"

#include "text/hexadecimal.h"

namespace fairlock::script {

Digest DigestMaker::Finish() {
  boost::uuids::detail::sha1::digest_type words;
  sha1_.get_digest(words);
  Digest digest;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    digest.bytes[i] = static_cast<std::uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Digest DigestOf(std::string_view bytes) {
  DigestMaker maker;
  maker.Add(bytes);
  return maker.Finish();
}

std::string HexOf(const Digest& digest) { return text::HexOf(digest.bytes); }

std::optional<Digest> ParseDigest(std::string_view hex) {
  Digest digest;
  if (!text::ParseHex(hex, digest.bytes)) return std::nullopt;
  return digest;
}

}  // namespace fairlock::script
