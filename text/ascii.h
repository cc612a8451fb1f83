// Classes, cases and blanks of ASCII characters, whatever the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace fairlock::text {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// Includes the space.
constexpr bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }
constexpr char ToUpper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
constexpr char ToLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return x == y || ToUpper(x) == ToUpper(y); });
}

inline std::string Lowered(std::string_view bytes) {
  std::string lowered(bytes);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), ToLower);
  return lowered;
}

// The bytes without the blanks, which are any of `blanks`, at their beginning and end.
inline std::string_view Trimmed(std::string_view bytes, std::string_view blanks) {
  const std::size_t begin = bytes.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return bytes.substr(begin, bytes.find_last_not_of(blanks) - begin + 1);
}

}  // namespace fairlock::text
