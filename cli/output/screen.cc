#include "cli/output/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

namespace fairlock::cli {

namespace {

constexpr std::size_t kColumnsIfUnknown = 80;

std::string_view ReadVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::size_t ColumnsOf(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string_view text = ReadVariable("COLUMNS");
  std::size_t columns = 0;
  std::from_chars(text.data(), text.data() + text.size(), columns);
  return columns > 0 ? columns : kColumnsIfUnknown;
}

std::string_view CodeOf(Tint tint) {
  switch (tint) {
    case Tint::kNone:
      break;
    case Tint::kHeading:
      return "\x1b[1m";
    case Tint::kGood:
      return "\x1b[32m";
    case Tint::kWarning:
      return "\x1b[33m";
    case Tint::kBad:
      return "\x1b[31m";
    case Tint::kFaint:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

std::string Screen::Tinted(std::string_view printable, Tint tint) const {
  if (!has_colours || tint == Tint::kNone || printable.empty()) return std::string(printable);
  return std::string(CodeOf(tint)).append(printable).append("\x1b[0m");
}

Screen DetectScreen(int descriptor, Charset charset) {
  Screen screen{.is_terminal = ::isatty(descriptor) == 1,
                .has_colours = false,
                .columns = 0,
                .charset = charset};
  if (!screen.is_terminal) return screen;
  screen.columns = ColumnsOf(descriptor);
  const std::string_view terminal = ReadVariable("TERM");
  screen.has_colours = ReadVariable("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb";
  return screen;
}

}  // namespace fairlock::cli
