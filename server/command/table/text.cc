#include "server/command/table/text.h"

#include <algorithm>
#include <charconv>

namespace fairlock::command {

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && ToUpper(a[i]) != ToUpper(b[i])) return false;
  }
  return true;
}

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), ToLower);
  return lowered;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string Escaped(std::string_view bytes, std::size_t bytes_max) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string escaped;
  for (const char c : bytes.substr(0, bytes_max)) {
    if (c >= ' ' && c <= '~' && c != '\'' && c != '\\') {
      escaped += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    escaped.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  if (bytes.size() > bytes_max) escaped += "...";
  return escaped;
}

std::string Quoted(std::string_view bytes, std::size_t bytes_max) {
  return "'" + Escaped(bytes, bytes_max) + "'";
}

}  // namespace fairlock::command
