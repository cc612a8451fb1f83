// string: Lua's own functions if their work is linear in the arguments, otherwise functions of our
// own.

#include <algorithm>
#include <cstring>
#include <iterator>
#include <lua.hpp>
#include <string_view>

#include "server/script/bounded_text.h"
#include "server/script/library_table.h"
#include "server/script/pattern_matcher.h"
#include "server/script/raise.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

std::string_view CheckText(lua_State* lua, int index) {
  std::size_t bytes = 0;
  const char* text = luaL_checklstring(lua, index, &bytes);
  return {text, bytes};
}

// Removes the '^' from a pattern "^...", which matches only at the start of the search. Returns
// whether there was one.
bool TakeAnchor(std::string_view& pattern) {
  if (pattern.empty() || pattern.front() != '^') return false;
  pattern.remove_prefix(1);
  return true;
}

int Repeat(lua_State* lua) {
  const std::string_view text = CheckText(lua, 1);
  const lua_Number count = luaL_checknumber(lua, 2);
  BoundedText repeated(lua);
  if (!text.empty() && count >= 1) {
    const double bytes = static_cast<double>(text.size()) * count;
    const auto bytes_max = static_cast<double>(Sandbox::Of(lua).limits().memory_bytes_max);
    if (bytes > bytes_max) Raise(lua, "not enough memory");
    const std::size_t size = text.size() * static_cast<std::size_t>(count);
    repeated.Append(text);
    while (repeated.view().size() < size) {
      const std::string_view so_far = repeated.view();
      repeated.Append(so_far.substr(0, size - so_far.size()));
    }
  }
  repeated.Push();
  return 1;
}

// Reads where a search starts and returns it as an offset. Scripts count positions from 1, and
// negative ones from the end.
std::size_t FirstOffset(lua_State* lua, int index, std::size_t subject_bytes) {
  const auto bytes = static_cast<lua_Number>(subject_bytes);
  lua_Number first = luaL_optnumber(lua, index, 1);
  if (first < 0) first += bytes + 1;
  // Written so that NaN selects the first byte.
  return first >= 1 ? static_cast<std::size_t>(std::min(first - 1, bytes)) : 0;
}

bool HasSpecials(std::string_view pattern) {
  return pattern.find_first_of("^$*+?.([%-") != std::string_view::npos;
}

int FindPlain(lua_State* lua, std::string_view subject, std::string_view text, std::size_t first) {
  // Charged as linear in both lengths, which this search is, unlike a naive one.
  Sandbox::Of(lua).budget().ChargeBytes(lua, subject.size() + text.size());
  const void* found =
      memmem(subject.data() + first, subject.size() - first, text.data(), text.size());
  if (found == nullptr) {
    lua_pushnil(lua);
    return 1;
  }
  const auto offset = static_cast<const char*>(found) - subject.data();
  lua_pushinteger(lua, offset + 1);
  lua_pushinteger(lua, offset + static_cast<std::ptrdiff_t>(text.size()));
  return 2;
}

int FindPattern(lua_State* lua, bool gives_places) {
  const std::string_view subject = CheckText(lua, 1);
  std::string_view pattern = CheckText(lua, 2);
  const std::size_t first = FirstOffset(lua, 3, subject.size());
  if (gives_places && (lua_toboolean(lua, 4) != 0 || !HasSpecials(pattern))) {
    return FindPlain(lua, subject, pattern, first);
  }
  const bool is_anchored = TakeAnchor(pattern);
  PatternMatcher matcher(lua, subject, pattern);
  const char* subject_end = subject.data() + subject.size();
  for (const char* begin = subject.data() + first; begin <= subject_end; ++begin) {
    if (const char* end = matcher.MatchAt(begin)) {
      if (!gives_places) return matcher.PushCaptures(begin, end);
      lua_pushinteger(lua, begin - subject.data() + 1);
      lua_pushinteger(lua, end - subject.data());
      return matcher.PushCaptures(nullptr, nullptr) + 2;
    }
    if (is_anchored) break;
  }
  lua_pushnil(lua);
  return 1;
}

int Find(lua_State* lua) { return FindPattern(lua, true); }
int Match(lua_State* lua) { return FindPattern(lua, false); }

void RememberHowFar(lua_State* lua, std::ptrdiff_t offset) {
  lua_pushinteger(lua, offset);
  lua_replace(lua, lua_upvalueindex(3));
}

// The iterator that gmatch returns. Its upvalues are the subject, the pattern and the current
// offset.
int NextMatch(lua_State* lua) {
  const std::string_view subject = CheckText(lua, lua_upvalueindex(1));
  PatternMatcher matcher(lua, subject, CheckText(lua, lua_upvalueindex(2)));
  for (lua_Integer i = lua_tointeger(lua, lua_upvalueindex(3)); i <= std::ssize(subject); ++i) {
    const char* begin = subject.data() + i;
    const char* end = matcher.MatchAt(begin);
    if (end == nullptr) continue;
    // After an empty match, skips one byte; otherwise the same match would be found again and
    // again.
    RememberHowFar(lua, end - subject.data() + (end == begin ? 1 : 0));
    return matcher.PushCaptures(begin, end);
  }
  RememberHowFar(lua, std::ssize(subject) + 1);
  return 0;
}

int MatchAll(lua_State* lua) {
  CheckText(lua, 1);
  CheckText(lua, 2);
  lua_settop(lua, 2);
  lua_pushinteger(lua, 0);
  lua_pushcclosure(lua, NextMatch, 3);
  return 1;
}

// Appends the replacement text of one match, in which %1 is a capture and %0 the whole match.
void AppendReplacement(lua_State* lua, const PatternMatcher& matcher, BoundedText& out,
                       const char* begin, const char* end) {
  const std::string_view text = CheckText(lua, 3);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%';
    // Cannot read beyond the text, because a zero byte follows its last byte.
    const char c = is_escape ? text.data()[++i] : text[i];
    if (!is_escape || c < '0' || c > '9') {
      out.Append(c);
    } else if (c == '0') {
      out.Append({begin, static_cast<std::size_t>(end - begin)});
    } else {
      matcher.PushCapture(c - '1', begin, end);
      out.Append(CheckText(lua, -1));
      lua_pop(lua, 1);
    }
  }
}

// Appends what replaces one match of gsub, as given by the third argument.
void AppendReplaced(lua_State* lua, const PatternMatcher& matcher, BoundedText& out,
                    const char* begin, const char* end) {
  const int type = lua_type(lua, 3);
  if (type == LUA_TSTRING || type == LUA_TNUMBER) {
    return AppendReplacement(lua, matcher, out, begin, end);
  }
  if (type == LUA_TTABLE) {
    matcher.PushCapture(0, begin, end);
    lua_gettable(lua, 3);
  } else {
    lua_pushvalue(lua, 3);
    lua_call(lua, matcher.PushCaptures(begin, end), 1);
  }
  if (lua_toboolean(lua, -1) == 0) {
    out.Append({begin, static_cast<std::size_t>(end - begin)});
  } else if (lua_isstring(lua, -1) != 0) {
    out.Append(CheckText(lua, -1));
  } else {
    Raise(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
  }
  lua_pop(lua, 1);
}

int ReplaceMatches(lua_State* lua) {
  const std::string_view subject = CheckText(lua, 1);
  std::string_view pattern = CheckText(lua, 2);
  const int type = lua_type(lua, 3);
  luaL_argcheck(
      lua,
      type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE, 3,
      "string/function/table expected");
  const auto size = static_cast<lua_Number>(subject.size());
  const lua_Number count_max = luaL_optnumber(lua, 4, size + 1);
  lua_settop(lua, 4);
  const bool is_anchored = TakeAnchor(pattern);
  PatternMatcher matcher(lua, subject, pattern);
  BoundedText out(lua);
  const char* subject_end = subject.data() + subject.size();
  const char* begin = subject.data();
  lua_Number count = 0;
  while (count < count_max) {
    const char* end = matcher.MatchAt(begin);
    if (end != nullptr) {
      ++count;
      AppendReplaced(lua, matcher, out, begin, end);
    }
    if (end != nullptr && end > begin) {
      begin = end;
    } else if (begin < subject_end) {
      out.Append(*begin++);
    } else {
      break;
    }
    if (is_anchored) break;
  }
  out.Append({begin, static_cast<std::size_t>(subject_end - begin)});
  out.Push();
  lua_pushnumber(lua, count);
  return 2;
}

// Gives strings the library's functions as methods, as in ("x"):rep(3). Scripts cannot get the
// metatable.
void SetMetatableOfStrings(lua_State* lua) {
  lua_pushliteral(lua, "");
  lua_createtable(lua, 0, 2);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushboolean(lua, 0);
  lua_setfield(lua, -2, "__metatable");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);
}

}  // namespace

void PushStringLibrary(lua_State* lua) {
  lua_newtable(lua);
  AddChargedFunctionsOf(lua, luaopen_string,
                        {"byte", "char", "format", "len", "lower", "reverse", "sub", "upper"});
  AddFunctions(lua, {{"find", Find},
                     {"gmatch", MatchAll},
                     {"gsub", ReplaceMatches},
                     {"match", Match},
                     {"rep", Repeat}});
  SetMetatableOfStrings(lua);
}

}  // namespace fairlock::script
