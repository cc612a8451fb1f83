// Tables that scripts can read but not change.
#pragma once

struct lua_State;

namespace fairlock::script {

// Replaces the table on top of the stack with an empty proxy, which reads from that table and
// refuses writes. Its metatable is hidden. Functions that bypass metatables must call
// RequireWritable before they write.
void ReplaceByReadOnly(lua_State* lua);

// Raises an error if the value at that index is a read-only table.
void RequireWritable(lua_State* lua, int index);

}  // namespace fairlock::script
