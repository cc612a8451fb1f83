// Digests for comparing passwords.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace fairlock::access {

using Digest = std::array<std::uint8_t, 32>;

// Returns the SHA-256 digest.
Digest DigestOf(std::string_view bytes);

std::string HexOf(const Digest& digest);
// Returns nullopt if the text is not 64 hexadecimal digits.
std::optional<Digest> ParseDigest(std::string_view hex);

// Constant-time comparison.
bool AreEqual(const Digest& a, const Digest& b);
bool AreEqual(std::string_view a, std::string_view b);

// A secret key of this process: other processes cannot use digests made with it. Immutable.
class DigestKey {
 public:
  // Generates a random key.
  DigestKey();

  // Returns the HMAC of the parts. Different lists of parts give different digests even if their
  // concatenations are equal.
  Digest Of(std::initializer_list<std::string_view> parts) const;

 private:
  Digest key_;
};

}  // namespace fairlock::access
