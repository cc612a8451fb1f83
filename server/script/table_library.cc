// table: Lua's own functions, which are charged for the elements that they process.

#include <cmath>
#include <lua.hpp>

#include "server/script/library_table.h"
#include "server/script/raise.h"
#include "server/script/read_only.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

constexpr std::uint64_t kElementsPerStep = 4;
// Larger numbers are refused, because Lua would truncate them to an int.
constexpr lua_Number kIndexMax = 1e9;

Budget& BudgetOf(lua_State* lua) { return Sandbox::Of(lua).budget(); }

// Calls Lua's own function, which is the upvalue.
int CallOriginal(lua_State* lua) { return lua_tocfunction(lua, lua_upvalueindex(1))(lua); }

std::uint64_t CheckLength(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  return lua_objlen(lua, 1);
}

// Charges for moving all elements after the position. Lua visits every integer from there to the
// end, whatever position it is given.
void ChargeForMove(lua_State* lua, lua_Number place) {
  const auto length = static_cast<lua_Number>(CheckLength(lua));
  luaL_argcheck(lua, std::abs(place) < kIndexMax, 2, "position out of bounds");
  if (place > length) return;
  BudgetOf(lua).Charge(lua, static_cast<std::uint64_t>(length - place) / kElementsPerStep);
}

int Insert(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  RequireWritable(lua, 1);
  if (lua_gettop(lua) == 3) ChargeForMove(lua, luaL_checknumber(lua, 2));
  return CallOriginal(lua);
}

int Remove(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  RequireWritable(lua, 1);
  if (!lua_isnoneornil(lua, 2)) ChargeForMove(lua, luaL_checknumber(lua, 2));
  return CallOriginal(lua);
}

int Concat(lua_State* lua) {
  const std::uint64_t length = CheckLength(lua);
  const lua_Number first = luaL_optnumber(lua, 3, 1);
  const lua_Number last = luaL_optnumber(lua, 4, static_cast<lua_Number>(length));
  if (!(std::abs(first) < kIndexMax && std::abs(last) < kIndexMax)) {
    Raise(lua, "too many elements to concatenate");
  }
  if (last >= first) {
    BudgetOf(lua).Charge(lua, static_cast<std::uint64_t>(last - first) / kElementsPerStep);
  }
  const int results = CallOriginal(lua);
  BudgetOf(lua).ChargeBytes(lua, lua_objlen(lua, -1));
  return results;
}

// Performs one comparison of sort. The upvalue is the script's comparison function, or nil.
int Compare(lua_State* lua) {
  std::uint64_t steps = 1;
  if (lua_type(lua, 1) == LUA_TSTRING) steps += lua_objlen(lua, 1) / 64;
  BudgetOf(lua).Charge(lua, steps);
  if (lua_isnil(lua, lua_upvalueindex(1))) {
    lua_pushboolean(lua, lua_lessthan(lua, 1, 2));
    return 1;
  }
  lua_settop(lua, 2);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, 2, 1);
  return 1;
}

// Steps are charged for each comparison, because sort takes quadratic time for some inputs.
int Sort(lua_State* lua) {
  CheckLength(lua);
  RequireWritable(lua, 1);
  if (!lua_isnoneornil(lua, 2)) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  lua_pushcclosure(lua, Compare, 1);
  return CallOriginal(lua);
}

void AddAround(lua_State* lua, int original, const char* name, lua_CFunction function) {
  lua_getfield(lua, original, name);
  lua_pushcclosure(lua, function, 1);
  lua_setfield(lua, -2, name);
}

}  // namespace

void PushTableLibrary(lua_State* lua) {
  lua_pushcfunction(lua, luaopen_table);
  lua_call(lua, 0, 1);
  const int original = lua_gettop(lua);
  lua_newtable(lua);
  AddAround(lua, original, "concat", Concat);
  AddAround(lua, original, "getn", CallOriginal);
  AddAround(lua, original, "insert", Insert);
  AddAround(lua, original, "remove", Remove);
  AddAround(lua, original, "sort", Sort);
  lua_replace(lua, original);
}

}  // namespace fairlock::script
