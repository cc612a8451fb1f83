// The checksum of RocksDB's log files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fairlock::storage {

// CRC-32C of `bytes` behind bytes whose CRC is `crc` (0: none).
std::uint32_t ExtendCrc32c(std::uint32_t crc, std::string_view bytes);

// As RocksDB stores it: a CRC of bytes that hold CRCs themselves would be a poor one.
constexpr std::uint32_t MaskedCrc32c(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace fairlock::storage
