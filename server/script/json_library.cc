// cjson: those of its functions that lock scripts use.

#include <lua.hpp>

#include "server/script/bounded_text.h"
#include "server/script/json_reader.h"
#include "server/script/json_writer.h"
#include "server/script/library_table.h"

namespace fairlock::script {

namespace {

int Encode(lua_State* lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  BoundedText out(lua);
  WriteJson(lua, out);
  out.Push();
  return 1;
}

int Decode(lua_State* lua) {
  luaL_argcheck(lua, lua_gettop(lua) == 1, 1, "expected 1 argument");
  std::size_t bytes = 0;
  const char* text = luaL_checklstring(lua, 1, &bytes);
  ReadJson(lua, {text, bytes});
  return 1;
}

}  // namespace

void PushJsonLibrary(lua_State* lua) {
  lua_newtable(lua);
  AddFunctions(lua, {{"decode", Decode}, {"encode", Encode}});
  lua_pushlightuserdata(lua, nullptr);
  lua_setfield(lua, -2, "null");
}

}  // namespace fairlock::script
