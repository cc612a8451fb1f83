// Functions that fill the table of a library with its fields.
#pragma once

struct lua_State;

#include <initializer_list>

namespace fairlock::script {

struct LibraryFunction {
  const char* name;
  int (*function)(lua_State*);
};

// Adds our own functions to the table on top of the stack.
void AddFunctions(lua_State* lua, std::initializer_list<LibraryFunction> functions);

// Opens one of Lua's own libraries and adds the named fields to the table on top of the stack.
void AddFieldsOf(lua_State* lua, int (*open_library)(lua_State*),
                 std::initializer_list<const char*> names);

// Like AddFieldsOf, but only for functions. Each of them first charges steps for the strings among
// its arguments.
void AddChargedFunctionsOf(lua_State* lua, int (*open_library)(lua_State*),
                           std::initializer_list<const char*> names);

// The libraries that scripts can use. Each function pushes one library as a table that is still
// writable.
//
// Lua's own functions are used if they need no limits and cannot reach anything outside. The others
// are missing or rewritten. Missing are load, dofile, require, print, getfenv, setfenv, newproxy,
// collectgarbage, string.dump, coroutine, os, io and debug.
void PushBaseLibrary(lua_State* lua);
void PushStringLibrary(lua_State* lua);
void PushTableLibrary(lua_State* lua);
void PushMathLibrary(lua_State* lua);
// cjson: encode, decode, null.
void PushJsonLibrary(lua_State* lua);
// cmsgpack: pack, unpack, unpack_one, unpack_limit.
void PushMessagePackLibrary(lua_State* lua);
// struct: pack, unpack, size.
void PushStructLibrary(lua_State* lua);
// bit: operations on 32 bits.
void PushBitLibrary(lua_State* lua);
// redis: call, pcall and related functions.
void PushRedisLibrary(lua_State* lua);

}  // namespace fairlock::script
