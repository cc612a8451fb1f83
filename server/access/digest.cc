#include "server/access/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cassert>

#include "text/hexadecimal.h"

namespace fairlock::access {

Digest DigestOf(std::string_view bytes) {
  Digest digest;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  assert(done == 1);
  return digest;
}

std::string HexOf(const Digest& digest) { return text::HexOf(digest); }

std::optional<Digest> ParseDigest(std::string_view hex) {
  Digest digest;
  if (!text::ParseHex(hex, digest)) return std::nullopt;
  return digest;
}

bool AreEqual(const Digest& a, const Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool AreEqual(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

DigestKey::DigestKey() {
  const int done = RAND_bytes(key_.data(), static_cast<int>(key_.size()));
  assert(done == 1);
}

Digest DigestKey::Of(std::initializer_list<std::string_view> parts) const {
  std::string whole;
  for (const std::string_view part : parts) {
    whole.append(std::to_string(part.size())).append(":").append(part);
  }
  Digest digest;
  unsigned int size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(whole.data());
  const unsigned char* done = HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), bytes,
                                   whole.size(), digest.data(), &size);
  assert(done != nullptr && size == digest.size());
  OPENSSL_cleanse(whole.data(), whole.size());
  return digest;
}

}  // namespace fairlock::access
