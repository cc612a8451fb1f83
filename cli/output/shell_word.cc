#include "cli/output/shell_word.h"

#include <algorithm>

#include "text/ascii.h"
#include "text/hexadecimal.h"

namespace fairlock::cli {

bool IsShellWord(std::string_view bytes) {
  constexpr std::string_view kOthers = "_.:/@%+=,-";
  return !bytes.empty() && std::ranges::all_of(bytes, [&](char c) {
    return text::IsLetter(c) || text::IsDigit(c) || kOthers.find(c) != std::string_view::npos;
  });
}

std::string ShellWord(std::string_view bytes) {
  if (IsShellWord(bytes)) return std::string(bytes);
  const std::string quoted = text::Escaped(bytes, "'\\");
  return (quoted == bytes ? "'" : "$'") + quoted + "'";
}

}  // namespace fairlock::cli
