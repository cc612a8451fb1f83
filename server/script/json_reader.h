// Parses JSON into a Lua value.
#pragma once

#include <string_view>

struct lua_State;

namespace fairlock::script {

// Pushes the value; null becomes cjson.null, a light userdata with address 0. Raises a Lua error,
// in the wording of cjson, if the text is not JSON or is nested deeper than kJsonDepthMax.
void ReadJson(lua_State* lua, std::string_view text);

}  // namespace fairlock::script
