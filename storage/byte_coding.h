// Encodes numbers and strings as bytes: little-endian fixed-width numbers, varints, and strings
// preceded by their length.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fairlock::storage {

static_assert(std::endian::native == std::endian::little, "numbers are stored in memory order");

inline constexpr std::size_t kVarintBytesMax = 10;

template <std::unsigned_integral Number>
char* WriteFixed(char* to, Number number) {
  std::memcpy(to, &number, sizeof number);
  return to + sizeof number;
}

template <std::unsigned_integral Number>
Number ReadFixed(const char* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

// LEB128: seven bits per byte, least significant group first, high bit set on all but the last
// byte.
inline char* WriteVarint(char* to, std::uint64_t number) {
  while (number >= 0x80) {
    *to++ = static_cast<char>(number | 0x80);
    number >>= 7;
  }
  *to++ = static_cast<char>(number);
  return to;
}

constexpr std::size_t VarintBytes(std::uint64_t number) {
  return number == 0 ? 1 : (static_cast<std::size_t>(std::bit_width(number)) + 6) / 7;
}

inline char* WriteBytes(char* to, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

inline char* WriteString(char* to, std::string_view bytes) {
  return WriteBytes(WriteVarint(to, bytes.size()), bytes);
}

// Reads from the front of bytes that may be damaged. After the first error, every read returns zero
// or an empty string, and `ok` stays false. The returned views point into the given bytes.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && rest_.empty(); }
  std::size_t rest_bytes() const { return rest_.size(); }
  void Fail() {
    ok_ = false;
    rest_ = {};
  }

  std::string_view Bytes(std::uint64_t count) {
    if (count > rest_.size()) {
      Fail();
      return {};
    }
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  template <std::unsigned_integral Number>
  Number Fixed() {
    const std::string_view bytes = Bytes(sizeof(Number));
    return ok_ ? ReadFixed<Number>(bytes.data()) : Number{0};
  }

  // Accepts only the shortest form of a number, so that every row has exactly one encoding.
  std::uint64_t Varint();
  std::string_view String() { return Bytes(Varint()); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

inline std::uint64_t ByteReader::Varint() {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < kVarintBytesMax && i < rest_.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(rest_[i]);
    number |= std::uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) {
      if ((i > 0 && byte == 0) || (i == kVarintBytesMax - 1 && byte > 1)) break;
      rest_.remove_prefix(i + 1);
      return number;
    }
  }
  Fail();
  return 0;
}

}  // namespace fairlock::storage
