// Writes a value of Lua as JSON.
#pragma once

#include "server/script/bounded_text.h"

struct lua_State;

namespace fairlock::script {

// As cjson does in Redis: a table whose keys are 1 to n is an array, also with holes if few, every
// other an object, the empty one too; 14 digits of a number are written. Raises an error of Lua for
// what has no form in JSON, or is nested deeper than kJsonDepthMax.
inline constexpr int kJsonDepthMax = 1000;

// Writes the value on top of the stack, which stays there.
void WriteJson(lua_State* lua, BoundedText& out);

}  // namespace fairlock::script
