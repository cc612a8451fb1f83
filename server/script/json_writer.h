// Writes a Lua value as JSON.
#pragma once

#include "server/script/bounded_text.h"

struct lua_State;

namespace fairlock::script {

// Like cjson in Redis: a table with keys 1 to n is an array, even with a few holes; every other
// table, including the empty one, is an object; numbers are written with 14 digits. Raises a Lua
// error for values that JSON cannot express, and for values nested deeper than kJsonDepthMax.
inline constexpr int kJsonDepthMax = 1000;

// Writes the value on top of the stack, and leaves it there.
void WriteJson(lua_State* lua, BoundedText& out);

}  // namespace fairlock::script
