// The SHA-1 digest that names a script.
#pragma once

#include <array>
#include <boost/uuid/detail/sha1.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace fairlock::script {

struct Digest {
  std::array<std::uint8_t, 20> bytes{};

  friend bool operator==(const Digest&, const Digest&) = default;
};

struct DigestHash {
  // Any part of a SHA-1 digest is a good hash, without further mixing.
  std::size_t operator()(const Digest& digest) const {
    std::size_t part = 0;
    std::memcpy(&part, digest.bytes.data(), sizeof(part));
    return part;
  }
};

// Makes the digest of a text that is given in pieces.
class DigestMaker {
 public:
  void Add(std::string_view piece) { sha1_.process_bytes(piece.data(), piece.size()); }
  Digest Finish();

 private:
  boost::uuids::detail::sha1 sha1_;
};

Digest DigestOf(std::string_view bytes);

// Returns 40 hexadecimal digits in lower case.
std::string HexOf(const Digest& digest);

// Accepts upper and lower case; returns nullopt for any other text.
std::optional<Digest> ParseDigest(std::string_view hex);

}  // namespace fairlock::script
