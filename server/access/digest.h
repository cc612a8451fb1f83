// Digests by which passwords are compared.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace fairlock::access {

using Digest = std::array<std::uint8_t, 32>;

// SHA-256.
Digest DigestOf(std::string_view bytes);

std::string HexOf(const Digest& digest);
// None: not 64 hexadecimal digits.
std::optional<Digest> ParseDigest(std::string_view hex);

// Takes as long for equal ones as for others.
bool AreEqual(const Digest& a, const Digest& b);
bool AreEqual(std::string_view a, std::string_view b);

// A secret of this process: what is digested under it means nothing elsewhere. Immutable.
class DigestKey {
 public:
  // By chance.
  DigestKey();

  // HMAC of the parts, which cannot be mistaken for others that are the same when joined.
  Digest Of(std::initializer_list<std::string_view> parts) const;

 private:
  Digest key_;
};

}  // namespace fairlock::access
