#include "server/script/garbage.h"

#include <lua.hpp>

namespace fairlock::script {

void Garbage::CollectAll(lua_State* lua) {
  lua_gc(lua, LUA_GCCOLLECT, 0);
  NoteCollected();
}

void Garbage::Note(std::size_t much_bytes) {
  // A collection cycle that has already begun keeps what it has marked. Only the next cycle finds
  // all garbage.
  if (memory_.used_bytes() > 2 * bytes_in_use_ + much_bytes) cycles_left_ = 2;
}

void Garbage::CollectSome(lua_State* lua) {
  if (lua_gc(lua, LUA_GCSTEP, 0) != 0 && --cycles_left_ == 0) NoteCollected();
}

void Garbage::NoteCollected() {
  budget_.ForgetBlocks();
  bytes_in_use_ = memory_.used_bytes();
}

}  // namespace fairlock::script
