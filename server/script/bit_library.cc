// bit: operations on 32 bits, as in Redis. Source: the documentation of Lua BitOp.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <lua.hpp>
#include <string_view>

#include "server/script/library_table.h"
#include "text/ascii.h"
#include "text/hexadecimal.h"

namespace fairlock::script {

namespace {

using Bits = std::uint32_t;

constexpr int kHexDigits = 8;

// The argument, rounded to a whole number, modulo 2^32. For numbers beyond 2^51, the result is that
// of Redis: the sum has the whole number in the low bits of its fraction.
Bits BitsOf(lua_State* lua, int argument) {
  constexpr lua_Number kShift = 0x1.8p52;
  return static_cast<Bits>(std::bit_cast<std::uint64_t>(luaL_checknumber(lua, argument) + kShift));
}

int Return(lua_State* lua, Bits bits) {
  lua_pushnumber(lua, static_cast<lua_Number>(static_cast<std::int32_t>(bits)));
  return 1;
}

template <typename Operation>
int Fold(lua_State* lua, Operation operation) {
  Bits bits = BitsOf(lua, 1);
  for (int i = lua_gettop(lua); i > 1; --i) bits = operation(bits, BitsOf(lua, i));
  return Return(lua, bits);
}

int And(lua_State* lua) {
  return Fold(lua, [](Bits a, Bits b) { return a & b; });
}
int Or(lua_State* lua) {
  return Fold(lua, [](Bits a, Bits b) { return a | b; });
}
int Xor(lua_State* lua) {
  return Fold(lua, [](Bits a, Bits b) { return a ^ b; });
}

template <typename Operation>
int Shift(lua_State* lua, Operation operation) {
  const Bits bits = BitsOf(lua, 1);
  return Return(lua, operation(bits, static_cast<int>(BitsOf(lua, 2) & 31)));
}

int LeftShift(lua_State* lua) {
  return Shift(lua, [](Bits bits, int by) { return bits << by; });
}
int RightShift(lua_State* lua) {
  return Shift(lua, [](Bits bits, int by) { return bits >> by; });
}
int ArithmeticShift(lua_State* lua) {
  return Shift(lua, [](Bits bits, int by) {
    return static_cast<Bits>(static_cast<std::int32_t>(bits) >> by);
  });
}
int RotateLeft(lua_State* lua) {
  return Shift(lua, [](Bits bits, int by) { return std::rotl(bits, by); });
}
int RotateRight(lua_State* lua) {
  return Shift(lua, [](Bits bits, int by) { return std::rotr(bits, by); });
}

int ToBit(lua_State* lua) { return Return(lua, BitsOf(lua, 1)); }
int Not(lua_State* lua) { return Return(lua, ~BitsOf(lua, 1)); }
int SwapBytes(lua_State* lua) { return Return(lua, __builtin_bswap32(BitsOf(lua, 1))); }

// The second argument is the number of digits; if it is negative, the letters are large.
int ToHex(lua_State* lua) {
  Bits bits = BitsOf(lua, 1);
  const std::int64_t wanted =
      lua_isnone(lua, 2) ? kHexDigits : static_cast<std::int32_t>(BitsOf(lua, 2));
  const auto count =
      static_cast<std::size_t>(std::min<std::int64_t>(wanted < 0 ? -wanted : wanted, kHexDigits));
  std::array<char, kHexDigits> digits{};
  for (std::size_t i = count; i > 0; --i, bits >>= 4) {
    const char digit = text::kHexDigits[bits & 15];
    digits.at(i - 1) = wanted < 0 ? text::ToUpper(digit) : digit;
  }
  lua_pushlstring(lua, digits.data(), count);
  return 1;
}

}  // namespace

void PushBitLibrary(lua_State* lua) {
  lua_newtable(lua);
  AddFunctions(lua, {{"arshift", ArithmeticShift},
                     {"band", And},
                     {"bnot", Not},
                     {"bor", Or},
                     {"bswap", SwapBytes},
                     {"bxor", Xor},
                     {"lshift", LeftShift},
                     {"rol", RotateLeft},
                     {"ror", RotateRight},
                     {"rshift", RightShift},
                     {"tobit", ToBit},
                     {"tohex", ToHex}});
}

}  // namespace fairlock::script
