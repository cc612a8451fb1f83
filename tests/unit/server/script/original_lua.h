// Unmodified Lua, for comparison.
#pragma once

#include <lua.hpp>
#include <string>
#include <string_view>

namespace fairlock::script {

// Returns the text as a Lua literal.
inline std::string Literal(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    const std::string digits = std::to_string(static_cast<unsigned char>(c));
    literal += '\\' + std::string(3 - digits.size(), '0') + digits;
  }
  return literal + "'";
}

// Returns a script that calls a function and returns all its results, or its error, as one string.
inline std::string ShowingCall(std::string_view function, std::string_view arguments) {
  return "local function show(ok, ...) local t = {tostring(ok)} for i = 1, select('#', ...) do "
         "t[#t + 1] = type((select(i, ...))) .. ':' .. tostring((select(i, ...))) end "
         "return (table.concat(t, '|'):gsub('user_script:1: ', '')) end "
         "return show(pcall(" +
         std::string(function) + ", " + std::string(arguments) + "))";
}

class OriginalLua {
 public:
  OriginalLua() : lua_(luaL_newstate()) { luaL_openlibs(lua_); }
  OriginalLua(const OriginalLua&) = delete;
  OriginalLua& operator=(const OriginalLua&) = delete;
  ~OriginalLua() { lua_close(lua_); }

  // Returns the string that the script returns, or its error.
  std::string Run(const std::string& text) {
    lua_settop(lua_, 0);
    if (luaL_loadbuffer(lua_, text.data(), text.size(), "@user_script") == 0) {
      lua_pcall(lua_, 0, 1, 0);
    }
    std::size_t bytes = 0;
    const char* result = lua_tolstring(lua_, -1, &bytes);
    return result == nullptr ? std::string() : std::string(result, bytes);
  }

 private:
  lua_State* lua_;
};

}  // namespace fairlock::script
