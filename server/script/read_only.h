// Tables that scripts can read and not change.
#pragma once

struct lua_State;

namespace fairlock::script {

// Replaces the table on top by an empty one that reads from it and refuses writes. Its metatable is
// hidden. Whatever writes past metatables must ask RequireWritable.
void ReplaceByReadOnly(lua_State* lua);

// Raises an error if the value at that index is such a table.
void RequireWritable(lua_State* lua, int index);

}  // namespace fairlock::script
