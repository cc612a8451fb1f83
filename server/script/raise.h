// Raises Lua errors.
#pragma once

#include <lua.hpp>
#include <string_view>

namespace fairlock::script {

// Prefixes the message with the position in the script. The format is that of lua_pushfstring.
template <typename... Arguments>
[[noreturn]] void Raise(lua_State* lua, const char* format, Arguments... arguments) {
  luaL_error(lua, format, arguments...);
  __builtin_unreachable();  // luaL_error never returns, but is not declared so
}

// Raises the text without the position.
[[noreturn]] inline void RaiseText(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
  lua_error(lua);
  __builtin_unreachable();
}

}  // namespace fairlock::script
