// Reads numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace fairlock::text {

// None if the whole text is not a number, with a minus sign if the type is signed, or if the number
// does not fit into the type. The base is that of whole numbers.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view digits, int base = 10) {
  Number number{};
  const char* const end = digits.data() + digits.size();
  std::from_chars_result read{};
  if constexpr (std::is_integral_v<Number>) {
    read = std::from_chars(digits.data(), end, number, base);
  } else {
    read = std::from_chars(digits.data(), end, number);
  }
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace fairlock::text
