#include "server/script/library_table.h"

#include <lua.hpp>

#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

// Charges for the strings among the arguments, then calls the Lua function that is the upvalue,
// with the same arguments.
int CallCharged(lua_State* lua) {
  std::uint64_t bytes = 0;
  for (int i = lua_gettop(lua); i > 0; --i) {
    if (lua_type(lua, i) == LUA_TSTRING) bytes += lua_objlen(lua, i);
  }
  Sandbox::Of(lua).budget().ChargeBytes(lua, bytes);
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

// Pushes the table of the library.
void PushOpened(lua_State* lua, int (*open_library)(lua_State*)) {
  lua_pushcfunction(lua, open_library);
  lua_call(lua, 0, 1);
}

}  // namespace

void AddFunctions(lua_State* lua, std::initializer_list<LibraryFunction> functions) {
  for (const LibraryFunction& function : functions) {
    lua_pushcfunction(lua, function.function);
    lua_setfield(lua, -2, function.name);
  }
}

void AddFieldsOf(lua_State* lua, int (*open_library)(lua_State*),
                 std::initializer_list<const char*> names) {
  PushOpened(lua, open_library);
  for (const char* name : names) {
    lua_getfield(lua, -1, name);
    lua_setfield(lua, -3, name);
  }
  lua_pop(lua, 1);
}

void AddChargedFunctionsOf(lua_State* lua, int (*open_library)(lua_State*),
                           std::initializer_list<const char*> names) {
  PushOpened(lua, open_library);
  for (const char* name : names) {
    lua_getfield(lua, -1, name);
    lua_pushcclosure(lua, CallCharged, 1);
    lua_setfield(lua, -3, name);
  }
  lua_pop(lua, 1);
}

}  // namespace fairlock::script
