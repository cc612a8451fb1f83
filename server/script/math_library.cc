// math: Lua's own functions, and the random numbers of Redis.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <lua.hpp>

#include "server/script/library_table.h"
#include "server/script/raise.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

// Returns a random number in [0, 1).
double NextFraction(lua_State* lua) {
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  return static_cast<double>(nrand48(Sandbox::Of(lua).random().data()) % kMax) / kMax;
}

// Sets the same state as srand48 would.
void SeedRandom(Sandbox& sandbox, std::uint32_t seed) {
  sandbox.random() = {0x330e, static_cast<std::uint16_t>(seed),
                      static_cast<std::uint16_t>(seed >> 16)};
}

int Random(lua_State* lua) {
  const double fraction = NextFraction(lua);
  const int arguments = lua_gettop(lua);
  if (arguments > 2) Raise(lua, "wrong number of arguments");
  if (arguments == 0) {
    lua_pushnumber(lua, fraction);
    return 1;
  }
  const double low = arguments == 1 ? 1 : std::floor(luaL_checknumber(lua, 1));
  const double high = std::floor(luaL_checknumber(lua, arguments));
  luaL_argcheck(lua, low <= high, arguments, "interval is empty");
  lua_pushnumber(lua, low + std::floor(fraction * (high - low + 1)));
  return 1;
}

int Seed(lua_State* lua) {
  const auto seed = static_cast<std::uint32_t>(luaL_checkinteger(lua, 1));
  SeedRandom(Sandbox::Of(lua), seed);
  return 0;
}

}  // namespace

void PushMathLibrary(lua_State* lua) {
  SeedRandom(Sandbox::Of(lua), 0);
  lua_newtable(lua);
  AddFieldsOf(lua, luaopen_math,
              {"abs",   "acos", "asin",  "atan", "atan2", "ceil", "cos",   "cosh", "deg", "exp",
               "floor", "fmod", "frexp", "huge", "ldexp", "log",  "log10", "max",  "min", "mod",
               "modf",  "pi",   "pow",   "rad",  "sin",   "sinh", "sqrt",  "tan",  "tanh"});
  AddFunctions(lua, {{"random", Random}, {"randomseed", Seed}});
}

}  // namespace fairlock::script
