// Reads the format strings of the struct library.
#pragma once

#include <cstddef>

struct lua_State;

namespace fairlock::script {

// One element of a format, such as `i4`.
struct StructItem {
  char letter = 0;          // 0 if the format has ended
  std::size_t bytes = 0;    // 0 if it is variable
  std::size_t padding = 0;  // bytes before it
  bool is_big_endian = false;
};

// Formats are those of Roberto Ierusalimschy's struct 0.2, as in Redis:
//   > < !n    big endian, little endian, alignment to at most n bytes; nothing is read or written
//   x         a padding byte
//   b B h H l L T    integers of 1, 2, 8 and 8 bytes; a capital letter and T are unsigned
//   in In     integers of n bytes, 4 without n, at most 32
//   f d       4 and 8 bytes of IEEE 754
//   cn s      n bytes, 1 without n; bytes that end with a zero byte
class StructFormat {
 public:
  enum class Unknown : unsigned char { kIsError, kIsNothing };

  // `text` must end with a zero byte and outlive this object. `unknown` says what a meaningless
  // letter or digit is.
  StructFormat(lua_State* lua, const char* text, Unknown unknown)
      : lua_(lua), at_(text), unknown_(unknown) {}

  bool is_at_end() const { return *at_ == '\0'; }
  // Returns the next element, for the given offset from the beginning. Raises a Lua error if the
  // format is wrong.
  StructItem Next(std::size_t offset);

 private:
  std::size_t ReadNumber(std::size_t without);
  std::size_t SizeOf(char letter);
  void ChangeOption(char letter);
  std::size_t PaddingOf(const StructItem& item, std::size_t offset) const;

  lua_State* lua_;
  const char* at_;
  Unknown unknown_;
  std::size_t alignment_ = 1;
  bool is_big_endian_ = false;
};

}  // namespace fairlock::script
