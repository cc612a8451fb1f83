#include "storage/crc32c.h"

#include <array>
#include <cstring>

namespace fairlock::storage {
namespace {

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = MakeTable();

std::uint32_t ExtendByTable(std::uint32_t crc, std::string_view bytes) {
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff];
  }
  return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) std::uint32_t ExtendByInstruction(std::uint32_t crc,
                                                                    std::string_view bytes) {
  std::uint64_t wide = crc;
  while (bytes.size() >= sizeof wide) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
    bytes.remove_prefix(sizeof word);
  }
  return ExtendByTable(static_cast<std::uint32_t>(wide), bytes);
}
#endif

}  // namespace

std::uint32_t ExtendCrc32c(std::uint32_t crc, std::string_view bytes) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("sse4.2")) return ~ExtendByInstruction(~crc, bytes);
#endif
  return ~ExtendByTable(~crc, bytes);
}

}  // namespace fairlock::storage
