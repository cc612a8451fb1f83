// LEB128 varints: seven bits per byte, least significant group first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlock::record {

template <typename Number>
inline constexpr std::size_t kVarintBytesMax = (8 * sizeof(Number) + 6) / 7;

inline char* WriteVarint(std::uint64_t value, char* to) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

// REQUIRES: `from` points to bytes written by WriteVarint.
inline const char* ReadVarint(const char* from, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*from++);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return from;
  }
}

}  // namespace fairlock::record
