#include "cli/output/printable.h"

#include <langinfo.h>
#include <wchar.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <clocale>
#include <cstdint>

#include "json/utf8.h"
#include "text/ascii.h"
#include "text/hexadecimal.h"

namespace fairlock::cli {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Characters that draw nothing themselves, but change how their neighbours are drawn or make two
// different strings look the same: direction marks, joiners, fillers, variation selectors, tags.
// Combining marks are allowed.
constexpr auto kInvisible = std::to_array<Range>({{0xad, 0xad},
                                                  {0x34f, 0x34f},
                                                  {0x61c, 0x61c},
                                                  {0x115f, 0x1160},
                                                  {0x17b4, 0x17b5},
                                                  {0x180b, 0x180f},
                                                  {0x200b, 0x200f},
                                                  {0x2028, 0x202e},
                                                  {0x2060, 0x206f},
                                                  {0x3164, 0x3164},
                                                  {0xfe00, 0xfe0f},
                                                  {0xfeff, 0xfeff},
                                                  {0xffa0, 0xffa0},
                                                  {0xfff0, 0xfffb},
                                                  {0x13430, 0x13455},
                                                  {0x1bca0, 0x1bca3},
                                                  {0x1d173, 0x1d17a},
                                                  {0xe0000, 0xe0fff}});

// Requires a valid character, as json::Utf8CharacterBytes() recognises it.
char32_t Decode(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return lead;
  char32_t code = lead & (0xffU >> (character.size() + 1));
  for (const char byte : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  return code;
}

int CharacterWidth(char32_t code) {
  if (code < 0x80) return code >= 0x20 && code != 0x7f ? 1 : -1;
  return wcwidth(static_cast<wchar_t>(code));
}

bool IsVisible(char32_t code) {
  const auto holds = [code](const Range& range) {
    return code >= range.first && code <= range.last;
  };
  return CharacterWidth(code) >= 0 && std::ranges::none_of(kInvisible, holds);
}

void AppendEscapedCode(std::string& out, char32_t code) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                 static_cast<std::uint32_t>(code), 16);
  out.append("\\u{").append(digits.data(), end.ptr).append("}");
}

// Moves one character from the front of `bytes` to `out`, escaped if necessary.
void AppendCharacter(std::string& out, std::string_view& bytes, Charset charset) {
  const std::size_t size = json::Utf8CharacterBytes(bytes);
  const std::string_view character = bytes.substr(0, std::max<std::size_t>(size, 1));
  bytes.remove_prefix(character.size());
  if (size == 0 || (size == 1 && !IsVisible(Decode(character)))) {
    text::AppendEscape(out, character.front());
  } else if (size > 1 && (charset == Charset::kAscii || !IsVisible(Decode(character)))) {
    AppendEscapedCode(out, Decode(character));
  } else {
    out += character;
  }
}

void AppendJsonUnit(std::string& out, std::uint32_t unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += text::kHexDigits[unit >> shift & 15U];
}

void AppendJsonEscape(std::string& out, char32_t code) {
  if (code < 0x10000) return AppendJsonUnit(out, code);
  AppendJsonUnit(out, 0xd800 + ((code - 0x10000) >> 10));
  AppendJsonUnit(out, 0xdc00 + ((code - 0x10000) & 0x3ffU));
}

}  // namespace

Charset AdoptLocale() {
  // If the locale is not installed, the C locale stays in effect, in which only ASCII characters
  // have a width.
  if (std::setlocale(LC_CTYPE, "") == nullptr) return Charset::kAscii;
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8" ? Charset::kUtf8 : Charset::kAscii;
}

std::string Printable(std::string_view bytes, Charset charset) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    if (bytes.front() == '\\') out += '\\';
    AppendCharacter(out, bytes, charset);
  }
  return out;
}

std::string PrintableText(std::string_view bytes, Charset charset) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) AppendCharacter(out, bytes, charset);
  return out;
}

std::string PrintableJson(std::string_view json, Charset charset) {
  constexpr char32_t kReplacement = 0xfffd;
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t size = json::Utf8CharacterBytes(json);
    const std::string_view character = json.substr(0, std::max<std::size_t>(size, 1));
    json.remove_prefix(character.size());
    const char32_t code = size == 0 ? kReplacement : Decode(character);
    const bool is_shown = IsVisible(code) && (size == 1 || charset == Charset::kUtf8);
    if (code == U'\n' || (is_shown && size > 0)) {
      out += character;
    } else {
      AppendJsonEscape(out, code);
    }
  }
  return out;
}

std::string Quoted(std::string_view bytes, Charset charset, std::size_t bytes_max) {
  std::string quoted = "'" + Printable(bytes.substr(0, bytes_max), charset);
  if (bytes.size() > bytes_max) quoted += "...";
  return quoted + "'";
}

std::size_t DisplayWidth(std::string_view printable, Charset charset) {
  if (charset == Charset::kAscii) return printable.size();
  std::size_t width = 0;
  while (!printable.empty()) {
    const std::size_t size = std::max<std::size_t>(json::Utf8CharacterBytes(printable), 1);
    width +=
        static_cast<std::size_t>(std::max(CharacterWidth(Decode(printable.substr(0, size))), 0));
    printable.remove_prefix(size);
  }
  return width;
}

std::string CutToWidth(std::string_view printable, std::size_t columns, Charset charset) {
  if (DisplayWidth(printable, charset) <= columns) return std::string(printable);
  const std::string_view ellipsis = charset == Charset::kUtf8 ? "…" : "...";
  const std::size_t ellipsis_width = charset == Charset::kUtf8 ? 1 : 3;
  if (columns < ellipsis_width) return std::string(columns, '.');
  std::size_t end = 0;
  std::size_t width = ellipsis_width;
  while (end < printable.size()) {
    const std::size_t size =
        std::max<std::size_t>(json::Utf8CharacterBytes(printable.substr(end)), 1);
    width += DisplayWidth(printable.substr(end, size), charset);
    if (width > columns) break;
    end += size;
  }
  return std::string(printable.substr(0, end)).append(ellipsis);
}

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
