// Raises errors of Lua.
#pragma once

#include <lua.hpp>
#include <string_view>

namespace fairlock::script {

// With the place in the script in front of it. The format is that of lua_pushfstring.
template <typename... Arguments>
[[noreturn]] void Raise(lua_State* lua, const char* format, Arguments... arguments) {
  luaL_error(lua, format, arguments...);
  __builtin_unreachable();  // Lua does not say that it does not return
}

// The text alone.
[[noreturn]] inline void RaiseText(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
  lua_error(lua);
  __builtin_unreachable();
}

}  // namespace fairlock::script
