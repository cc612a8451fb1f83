// Writes a Lua value as MessagePack.
#pragma once

#include "server/script/bounded_text.h"

struct lua_State;

namespace fairlock::script {

// Like cmsgpack in Redis: a table with keys 1 to n is an array, every other one a map; a number is
// an integer if it is whole, and otherwise a float if that loses nothing; nil stands for values
// that MessagePack does not have, and for tables nested deeper than kMessagePackDepthMax.
inline constexpr int kMessagePackDepthMax = 16;

// Writes the value on top of the stack, and leaves it there.
void WriteMessagePack(lua_State* lua, BoundedText& out);

}  // namespace fairlock::script
