// Lua's global functions.

#include <lua.hpp>

#include "server/script/library_table.h"
#include "server/script/raise.h"
#include "server/script/read_only.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

// Functions that catch errors must not catch the error that stops the script: they raise it again.
void RaiseAgainIfStopped(lua_State* lua) {
  if (Sandbox::Of(lua).budget().used_up() != Budget::UsedUp::kNot) lua_error(lua);
}

// As in Redis, pcall returns only the text of an error from redis.call.
void ReplaceErrorByText(lua_State* lua) {
  if (!lua_istable(lua, -1)) return;
  lua_pushliteral(lua, "err");
  lua_rawget(lua, -2);
  if (lua_type(lua, -1) == LUA_TSTRING) {
    lua_replace(lua, -2);
  } else {
    lua_pop(lua, 1);
  }
}

int ProtectedCall(lua_State* lua) {
  luaL_checkany(lua, 1);
  // Reserves the stack slot before the function runs: the function may change something and then
  // return enough results to fill the stack.
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  const int status = lua_pcall(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0);
  if (status != 0) {
    RaiseAgainIfStopped(lua);
    ReplaceErrorByText(lua);
    lua_pushboolean(lua, 0);
    lua_replace(lua, 1);
  }
  return lua_gettop(lua);
}

int RawSet(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  luaL_checkany(lua, 2);
  luaL_checkany(lua, 3);
  lua_settop(lua, 3);
  RequireWritable(lua, 1);
  lua_rawset(lua, 1);
  return 1;
}

int SetMetatable(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const int type = lua_type(lua, 2);
  luaL_argcheck(lua, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table expected");
  RequireWritable(lua, 1);
  if (luaL_getmetafield(lua, 1, "__metatable") != 0) {
    Raise(lua, "cannot change a protected metatable");
  }
  lua_settop(lua, 2);
  lua_setmetatable(lua, 1);
  return 1;
}

int Unpack(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const lua_Number first = luaL_optnumber(lua, 2, 1);
  const lua_Number last = lua_isnoneornil(lua, 3) ? static_cast<lua_Number>(lua_objlen(lua, 1))
                                                  : luaL_checknumber(lua, 3);
  if (first > last) return 0;
  // Written so that it is false if one of the bounds is NaN.
  const bool is_small = last - first < LUAI_MAXCSTACK && first > -1e9 && last < 1e9;
  const int count = is_small ? static_cast<int>(last) - static_cast<int>(first) + 1 : 0;
  if (!is_small || lua_checkstack(lua, count) == 0) {
    Raise(lua, "too many results to unpack");
  }
  Sandbox::Of(lua).budget().Charge(lua, static_cast<std::uint64_t>(count) / 8);
  for (int i = 0; i < count; ++i) lua_rawgeti(lua, 1, static_cast<int>(first) + i);
  return count;
}

}  // namespace

void PushBaseLibrary(lua_State* lua) {
  // luaopen_base stores its functions as globals and leaves results on the stack.
  lua_pushcfunction(lua, luaopen_base);
  lua_call(lua, 0, 0);
  lua_newtable(lua);
  for (const char* name : {"assert", "error", "getmetatable", "ipairs", "next", "pairs", "rawequal",
                           "rawget", "select", "tonumber", "tostring", "type", "_VERSION"}) {
    lua_getfield(lua, LUA_GLOBALSINDEX, name);
    lua_setfield(lua, -2, name);
  }
  AddFunctions(lua, {{"pcall", ProtectedCall},
                     {"rawset", RawSet},
                     {"setmetatable", SetMetatable},
                     {"unpack", Unpack}});
}

}  // namespace fairlock::script
