// The checksum that RocksDB uses in its log files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fairlock::storage {

// Returns the CRC-32C of the preceding bytes followed by `bytes`. `crc` is that of the preceding
// bytes, 0 if there are none.
std::uint32_t ExtendCrc32c(std::uint32_t crc, std::string_view bytes);

// The form in which RocksDB stores a CRC. It is masked because the CRC of bytes that contain CRCs
// would be weak.
constexpr std::uint32_t MaskedCrc32c(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace fairlock::storage
