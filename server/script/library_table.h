// Functions that fill the table of a library with its fields.
#pragma once

#include <initializer_list>

struct lua_State;

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

}  // namespace fairlock::script
