// Any bytes that are read as a record are either refused, or decoded to rows that encode to the
// same bytes.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/unit/storage/decode_anything.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fairlock::storage::DecodeContent(bytes);
  fairlock::storage::DecodeRaw(bytes);
  return 0;
}
