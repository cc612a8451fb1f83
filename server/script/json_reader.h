// Reads JSON into a value of Lua.
#pragma once

#include <string_view>

struct lua_State;

namespace fairlock::script {

// Pushes the value: null as cjson.null, which is a light userdata of address 0. Raises an error of
// Lua, in the words of cjson, for what is not JSON or is nested deeper than kJsonDepthMax.
void ReadJson(lua_State* lua, std::string_view text);

}  // namespace fairlock::script
