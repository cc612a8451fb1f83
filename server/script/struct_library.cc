// struct: packs values into bytes, and unpacks them, as the library of Redis does.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <lua.hpp>
#include <string_view>

#include "server/script/bounded_text.h"
#include "server/script/library_table.h"
#include "server/script/raise.h"
#include "server/script/sandbox.h"
#include "server/script/struct_format.h"

namespace fairlock::script {

namespace {

constexpr std::size_t kBytesOfWord = sizeof(std::uint64_t);

bool IsInteger(char letter) {
  return std::string_view("bBhHlLTiI").find(letter) != std::string_view::npos;
}
bool IsSigned(char letter) { return letter >= 'a' && letter <= 'z'; }

std::uint64_t WordOf(lua_Number number) {
  // Conversions that C++ does not define have the result of the x86 instruction, as in Redis.
  constexpr lua_Number kSignedEnd = 0x1p63;
  if (number != number || number < -kSignedEnd) return std::uint64_t{1} << 63;
  if (number < kSignedEnd) return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
  return number < 2 * kSignedEnd ? static_cast<std::uint64_t>(number) : 0;
}

// Appends the lowest `bytes` bytes of the word.
void AppendInteger(BoundedText& out, std::uint64_t word, std::size_t bytes, bool is_big_endian) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t place = is_big_endian ? bytes - 1 - i : i;
    out.Append(place < kBytesOfWord ? static_cast<char>(word >> (8 * place)) : '\0');
  }
}

// Returns the integer; if it does not fit into a word, only its lowest bytes.
std::uint64_t IntegerOf(std::string_view bytes, bool is_big_endian) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t at = is_big_endian ? i : bytes.size() - 1 - i;
    word = word << 8 | static_cast<unsigned char>(bytes[at]);
  }
  return word;
}

void AppendText(lua_State* lua, BoundedText& out, const StructItem& item, int argument) {
  std::size_t length = 0;
  const char* text = luaL_checklstring(lua, argument, &length);
  const std::size_t bytes = item.bytes == 0 ? length : item.bytes;
  // Names the next argument in the error, as Redis does.
  luaL_argcheck(lua, length >= bytes, argument + 1, "string too short");
  out.Append({text, bytes});
  if (item.letter == 's') out.Append('\0');
}

void AppendItem(lua_State* lua, BoundedText& out, const StructItem& item, int argument) {
  if (item.letter == 'f') {
    const auto number = static_cast<float>(luaL_checknumber(lua, argument));
    AppendInteger(out, std::bit_cast<std::uint32_t>(number), item.bytes, item.is_big_endian);
  } else if (item.letter == 'd') {
    const lua_Number number = luaL_checknumber(lua, argument);
    AppendInteger(out, std::bit_cast<std::uint64_t>(number), item.bytes, item.is_big_endian);
  } else if (IsInteger(item.letter)) {
    AppendInteger(out, WordOf(luaL_checknumber(lua, argument)), item.bytes, item.is_big_endian);
  } else {
    AppendText(lua, out, item, argument);
  }
}

int Pack(lua_State* lua) {
  BoundedText out(lua);
  StructFormat format(lua, luaL_checkstring(lua, 1), StructFormat::Unknown::kIsError);
  lua_pushnil(lua);  // as in Redis, where a missing value is nil
  int argument = 2;
  while (true) {
    const StructItem item = format.Next(out.view().size());
    if (item.letter == 0) break;
    Sandbox::Of(lua).budget().Charge(lua, 1);
    for (std::size_t i = 0; i < item.padding; ++i) out.Append('\0');
    if (item.letter == 'x') {
      out.Append('\0');
    } else {
      AppendItem(lua, out, item, argument++);
    }
  }
  out.Push();
  return 1;
}

void PushInteger(lua_State* lua, const StructItem& item, std::string_view bytes) {
  std::uint64_t word = IntegerOf(bytes, item.is_big_endian);
  if (!IsSigned(item.letter)) return lua_pushnumber(lua, static_cast<lua_Number>(word));
  // For more than 8 bytes, this is what Redis does on this hardware.
  const std::uint64_t sign = ~std::uint64_t{0} << ((8 * bytes.size() - 1) % 64);
  if ((word & sign) != 0) word |= sign;
  lua_pushnumber(lua, static_cast<lua_Number>(static_cast<std::int64_t>(word)));
}

// Reads one element after the other.
class Unpacker {
 public:
  Unpacker(lua_State* lua, std::string_view data, std::size_t at)
      : lua_(lua), data_(data), at_(at) {}

  std::size_t at() const { return at_; }
  void Skip(std::size_t bytes) { at_ += bytes; }
  // Pushes the element, unless it is a padding byte. `is_after_value` says whether there is a
  // previous element.
  void Take(const StructItem& item, bool is_after_value);

 private:
  std::string_view Bytes(std::size_t bytes) {
    luaL_argcheck(lua_, bytes <= data_.size() && at_ <= data_.size() - bytes, 2,
                  "data string too short");
    const std::string_view taken = data_.substr(at_, bytes);
    at_ += bytes;
    return taken;
  }
  void TakeCounted();
  void TakeTerminated();

  lua_State* lua_;
  std::string_view data_;
  std::size_t at_;
};

// The previous element is the number of bytes.
void Unpacker::TakeCounted() {
  const auto bytes = static_cast<std::size_t>(WordOf(lua_tonumber(lua_, -1)));
  lua_pop(lua_, 1);
  const std::string_view text = Bytes(bytes);
  lua_pushlstring(lua_, text.data(), text.size());
}

void Unpacker::TakeTerminated() {
  const std::size_t end = data_.find('\0', at_);
  if (end == std::string_view::npos) Raise(lua_, "unfinished string in data");
  const std::string_view text = Bytes(end + 1 - at_);
  lua_pushlstring(lua_, text.data(), text.size() - 1);
}

void Unpacker::Take(const StructItem& item, bool is_after_value) {
  if (item.letter == 's') return TakeTerminated();
  if (item.letter == 'c' && item.bytes == 0) {
    if (!is_after_value || lua_isnumber(lua_, -1) == 0) {
      Raise(lua_, "format 'c0' needs a previous size");
    }
    return TakeCounted();
  }
  const std::string_view bytes = Bytes(item.bytes);
  const std::uint64_t word = IntegerOf(bytes, item.is_big_endian);
  switch (item.letter) {
    case 'x':
      return;
    case 'c':
      return lua_pushlstring(lua_, bytes.data(), bytes.size());
    case 'f':
      return lua_pushnumber(lua_, std::bit_cast<float>(static_cast<std::uint32_t>(word)));
    case 'd':
      return lua_pushnumber(lua_, std::bit_cast<lua_Number>(word));
    default:
      return PushInteger(lua_, item, bytes);
  }
}

int Unpack(lua_State* lua) {
  StructFormat format(lua, luaL_checkstring(lua, 1), StructFormat::Unknown::kIsError);
  std::size_t bytes = 0;
  const char* data = luaL_checklstring(lua, 2, &bytes);
  // A negative position is a large one, as in Redis.
  const auto position = static_cast<std::size_t>(luaL_optinteger(lua, 3, 1));
  luaL_argcheck(lua, position > 0, 3, "offset must be 1 or greater");
  lua_settop(lua, 3);
  luaL_argcheck(lua, position - 1 <= bytes || format.is_at_end(), 2, "data string too short");
  Unpacker unpacker(lua, {data, bytes}, position - 1);
  while (true) {
    const StructItem item = format.Next(unpacker.at());
    if (item.letter == 0) break;
    Sandbox::Of(lua).budget().Charge(lua, 1);
    luaL_checkstack(lua, 2, "too many results");
    unpacker.Skip(item.padding);
    unpacker.Take(item, lua_gettop(lua) > 3);
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(unpacker.at() + 1));
  return lua_gettop(lua) - 3;
}

int Size(lua_State* lua) {
  StructFormat format(lua, luaL_checkstring(lua, 1), StructFormat::Unknown::kIsNothing);
  std::size_t bytes = 0;
  while (true) {
    const StructItem item = format.Next(bytes);
    if (item.letter == 0) break;
    Sandbox::Of(lua).budget().Charge(lua, 1);
    if (item.letter == 's') luaL_argerror(lua, 1, "option 's' has no fixed size");
    if (item.letter == 'c' && item.bytes == 0) {
      luaL_argerror(lua, 1, "option 'c0' has no fixed size");
    }
    bytes += item.padding + item.bytes;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(bytes));
  return 1;
}

}  // namespace

void PushStructLibrary(lua_State* lua) {
  lua_newtable(lua);
  AddFunctions(lua, {{"pack", Pack}, {"size", Size}, {"unpack", Unpack}});
}

}  // namespace fairlock::script
