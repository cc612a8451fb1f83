#include "cli/output/shell_word.h"

#include <algorithm>

namespace fairlock::cli {

bool IsShellWord(std::string_view bytes) {
  constexpr std::string_view kOthers = "_.:/@%+=,-";
  return !bytes.empty() && std::ranges::all_of(bytes, [&](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || kOthers.find(c) != std::string_view::npos;
  });
}

std::string ShellWord(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (IsShellWord(bytes)) return std::string(bytes);
  std::string quoted;
  bool is_plain = true;
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (c >= ' ' && c <= '~' && c != '\'' && c != '\\') {
      quoted += c;
      continue;
    }
    is_plain = false;
    quoted.append("\\x") += kDigits[code >> 4];
    quoted += kDigits[code & 15];
  }
  return (is_plain ? "'" : "$'") + quoted + "'";
}

}  // namespace fairlock::cli
