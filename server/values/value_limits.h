// The bounds on values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace fairlock::values {

// The largest bounds that may be configured, which are the defaults.
inline constexpr std::size_t kElementsMax = 4'294'967'294;
inline constexpr std::size_t kBytesMax = std::size_t{1} << 40;
// An element, with the name of its field, fits into a stored row.
inline constexpr std::size_t kElementBytesMax = 1'047'552;

// A value within these bounds is stored as one row.
inline constexpr std::size_t kSmallElementsMax = 32;
inline constexpr std::size_t kSmallBytesMax = 2048;

struct ValueLimits {
  // How many elements one value may have, or fields if it is a hash.
  std::size_t elements_max = kElementsMax;
  // How many bytes one value may have, with kElementBytes for each element.
  std::size_t bytes_max = kBytesMax;
  std::uint64_t values_max = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace fairlock::values
