// Fills the table of a library.
#pragma once

#include <initializer_list>

struct lua_State;

namespace fairlock::script {

struct LibraryFunction {
  const char* name;
  int (*function)(lua_State*);
};

// Adds functions of ours to the table on top.
void AddFunctions(lua_State* lua, std::initializer_list<LibraryFunction> functions);

// Opens one of Lua's own libraries and adds those fields of it to the table on top.
void AddFieldsOf(lua_State* lua, int (*open_library)(lua_State*),
                 std::initializer_list<const char*> names);

// As AddFieldsOf, for functions: the steps for the strings among their arguments are charged first.
void AddChargedFunctionsOf(lua_State* lua, int (*open_library)(lua_State*),
                           std::initializer_list<const char*> names);

}  // namespace fairlock::script
