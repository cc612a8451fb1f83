#include "server/script/read_only.h"

#include <lua.hpp>

#include "server/script/raise.h"

namespace fairlock::script {

namespace {

constexpr const char* kRefusal = "Attempt to modify a readonly table";

// The address of this is used as a key in our metatables, because scripts cannot create that key.
const char kMark = 0;

void* Mark() { return const_cast<char*>(&kMark); }

int RefuseWrite(lua_State* lua) { Raise(lua, "%s", kRefusal); }

bool IsReadOnly(lua_State* lua, int index) {
  if (lua_getmetatable(lua, index) == 0) return false;
  lua_pushlightuserdata(lua, Mark());
  lua_rawget(lua, -2);
  const bool is_marked = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 2);
  return is_marked;
}

}  // namespace

void ReplaceByReadOnly(lua_State* lua) {
  lua_newtable(lua);
  lua_createtable(lua, 0, 4);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, RefuseWrite);
  lua_setfield(lua, -2, "__newindex");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_pushlightuserdata(lua, Mark());
  lua_pushboolean(lua, 1);
  lua_rawset(lua, -3);
  lua_setmetatable(lua, -2);
  lua_replace(lua, -2);
}

void RequireWritable(lua_State* lua, int index) {
  if (!IsReadOnly(lua, index)) return;
  RaiseText(lua, kRefusal);
}

}  // namespace fairlock::script
