// The bounds on small values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace fairlock::values {

// The largest bounds that may be configured: a value within them fits into a stored row.
inline constexpr std::size_t kElementsMax = 10'000;
inline constexpr std::size_t kBytesMax = std::size_t{768} << 10;

struct ValueLimits {
  std::size_t elements_max = 1'000;               // of one value; fields, in a hash
  std::size_t bytes_max = std::size_t{64} << 10;  // of one value, kElementBytes for each element
  std::uint64_t values_max = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace fairlock::values
