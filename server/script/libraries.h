// What scripts can call. Each function pushes one library, as a table that can still be written.
#pragma once

struct lua_State;

namespace fairlock::script {

// Of Lua's own libraries there is what needs no bound and reaches nothing; the rest is left out or
// written anew. There is no load, dofile, require, print, getfenv, setfenv, newproxy,
// collectgarbage, string.dump, coroutine, os, io, debug.
void PushBaseLibrary(lua_State* lua);
void PushStringLibrary(lua_State* lua);
void PushTableLibrary(lua_State* lua);
void PushMathLibrary(lua_State* lua);
// cjson: encode, decode, null.
void PushJsonLibrary(lua_State* lua);
// redis: call, pcall and what belongs to them.
void PushRedisLibrary(lua_State* lua);

}  // namespace fairlock::script
