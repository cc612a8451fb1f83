// cmsgpack: packs values as MessagePack, and unpacks them.

#include <limits>
#include <lua.hpp>

#include "server/script/bounded_text.h"
#include "server/script/library_table.h"
#include "server/script/message_pack_reader.h"
#include "server/script/message_pack_writer.h"
#include "server/script/raise.h"

namespace fairlock::script {

namespace {

int Pack(lua_State* lua) {
  const int arguments = lua_gettop(lua);
  luaL_argcheck(lua, arguments > 0, 0, "MessagePack pack needs input.");
  luaL_checkstack(lua, 1, "in function mp_pack");
  BoundedText out(lua);
  for (int i = 1; i <= arguments; ++i) {
    lua_pushvalue(lua, i);
    WriteMessagePack(lua, out);
    lua_pop(lua, 1);
  }
  out.Push();
  return 1;
}

// Pushes up to `limit` values.
MessagePackReader PushValues(lua_State* lua, int limit, int offset) {
  std::size_t bytes = 0;
  const char* data = luaL_checklstring(lua, 1, &bytes);
  const int length = static_cast<int>(bytes);
  if (offset < 0 || limit < 0) {
    Raise(lua, "Invalid request to unpack with offset of %d and limit of %d.", offset, length);
  }
  if (offset > length) {
    Raise(lua, "Start offset %d greater than input length %d.", offset, length);
  }
  MessagePackReader reader(lua, {data, bytes}, static_cast<std::size_t>(offset));
  for (int i = 0; i < limit && !reader.is_at_end(); ++i) reader.Read();
  return reader;
}

int Unpack(lua_State* lua) {
  lua_settop(lua, 1);
  PushValues(lua, std::numeric_limits<int>::max(), 0);
  return lua_gettop(lua) - 1;
}

// Returns the offset of the next value, -1 at the end, and then the values.
int UnpackSome(lua_State* lua, int limit, int offset) {
  lua_settop(lua, 1);
  lua_pushnil(lua);
  const MessagePackReader reader = PushValues(lua, limit, offset);
  lua_pushinteger(lua, reader.is_at_end() ? -1 : static_cast<lua_Integer>(reader.at()));
  lua_replace(lua, 2);
  return lua_gettop(lua) - 1;
}

int UnpackOne(lua_State* lua) {
  return UnpackSome(lua, 1, static_cast<int>(luaL_optinteger(lua, 2, 0)));
}

int UnpackLimit(lua_State* lua) {
  const int limit = static_cast<int>(luaL_checkinteger(lua, 2));
  return UnpackSome(lua, limit, static_cast<int>(luaL_optinteger(lua, 3, 0)));
}

}  // namespace

void PushMessagePackLibrary(lua_State* lua) {
  lua_newtable(lua);
  AddFunctions(lua, {{"pack", Pack},
                     {"unpack", Unpack},
                     {"unpack_limit", UnpackLimit},
                     {"unpack_one", UnpackOne}});
}

}  // namespace fairlock::script
