#include "server/script/struct_format.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <climits>
#include <cstdint>
#include <lua.hpp>

#include "server/script/raise.h"
#include "text/ascii.h"

namespace fairlock::script {

namespace {

constexpr std::size_t kIntegerBytesMax = 32;
constexpr std::size_t kAlignmentWithoutNumber = 8;

}  // namespace

std::size_t StructFormat::ReadNumber(std::size_t without) {
  if (!text::IsDigit(*at_)) return without;
  std::size_t number = 0;
  for (; text::IsDigit(*at_); ++at_) {
    const auto digit = static_cast<std::size_t>(*at_ - '0');
    if (number > (INT_MAX - digit) / 10) Raise(lua_, "integral size overflow");
    number = number * 10 + digit;
  }
  return number;
}

std::size_t StructFormat::SizeOf(char letter) {
  switch (letter) {
    case 'b':
    case 'B':
    case 'x':
      return 1;
    case 'h':
    case 'H':
      return 2;
    case 'f':
      return 4;
    case 'l':
    case 'L':
    case 'T':
    case 'd':
      return 8;
    case 'c':
      return ReadNumber(1);
    case 'i':
    case 'I': {
      const std::size_t bytes = ReadNumber(sizeof(int));
      if (bytes > kIntegerBytesMax) {
        Raise(lua_, "integral size %d is larger than limit of %d", static_cast<int>(bytes),
              static_cast<int>(kIntegerBytesMax));
      }
      return bytes;
    }
    default:
      return 0;
  }
}

void StructFormat::ChangeOption(char letter) {
  switch (letter) {
    case ' ':
      return;
    case '>':
      is_big_endian_ = true;
      return;
    case '<':
      is_big_endian_ = false;
      return;
    case '!': {
      const std::size_t alignment = ReadNumber(kAlignmentWithoutNumber);
      if (!std::has_single_bit(alignment)) {
        Raise(lua_, "alignment %d is not a power of 2", static_cast<int>(alignment));
      }
      alignment_ = alignment;
      return;
    }
    default:
      if (unknown_ == Unknown::kIsNothing && std::isalnum(static_cast<unsigned char>(letter)))
        return;
      luaL_argerror(lua_, 1, lua_pushfstring(lua_, "invalid format option '%c'", letter));
  }
}

std::size_t StructFormat::PaddingOf(const StructItem& item, std::size_t offset) const {
  if (item.bytes == 0 || item.letter == 'c') return 0;
  const std::size_t alignment = std::min(item.bytes, alignment_);
  return (alignment - (offset & (alignment - 1))) & (alignment - 1);
}

StructItem StructFormat::Next(std::size_t offset) {
  constexpr std::string_view kLetters = "xbBhHlLTiIfdcs";
  while (*at_ != '\0') {
    const char letter = *at_++;
    StructItem item{.letter = letter, .bytes = SizeOf(letter), .is_big_endian = is_big_endian_};
    item.padding = PaddingOf(item, offset);
    if (kLetters.find(letter) != std::string_view::npos) return item;
    ChangeOption(letter);
  }
  return {};
}

}  // namespace fairlock::script
