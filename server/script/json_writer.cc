#include "server/script/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <lua.hpp>
#include <string_view>

#include "server/script/raise.h"
#include "server/script/sandbox.h"
#include "text/hexadecimal.h"

namespace fairlock::script {

namespace {

// An array of up to this many elements may have any number of holes; a longer one must be at least
// half full.
constexpr std::int64_t kSparseElementsMax = 10;
constexpr int kDigitsWritten = 14;

class JsonWriter {
 public:
  JsonWriter(lua_State* lua, BoundedText& out) : lua_(lua), out_(out) {}

  void WriteValue();

 private:
  static constexpr std::int64_t kIsObject = -1;

  void WriteText();
  void WriteNumber();
  void WriteTable();
  void WriteArray(std::int64_t length);
  void WriteObject();
  void WriteKey();
  std::int64_t LengthOfArray();
  void WriteEscaped(unsigned char c);

  lua_State* lua_;
  BoundedText& out_;
  int depth_ = 0;
};

void JsonWriter::WriteValue() {
  Sandbox::Of(lua_).budget().Charge(lua_, 1);
  switch (lua_type(lua_, -1)) {
    case LUA_TSTRING:
      return WriteText();
    case LUA_TNUMBER:
      return WriteNumber();
    case LUA_TBOOLEAN:
      return out_.Append(lua_toboolean(lua_, -1) != 0 ? "true" : "false");
    case LUA_TTABLE:
      return WriteTable();
    case LUA_TNIL:
      return out_.Append("null");
    case LUA_TLIGHTUSERDATA:
      if (lua_touserdata(lua_, -1) == nullptr) return out_.Append("null");
      break;
    default:
      break;
  }
  Raise(lua_, "Cannot serialise %s: type not supported", luaL_typename(lua_, -1));
}

void JsonWriter::WriteEscaped(unsigned char c) {
  static constexpr std::string_view kNamed = "\"\\/\b\f\n\r\t";
  static constexpr std::string_view kNames = "\"\\/bfnrt";
  const auto place = kNamed.find(static_cast<char>(c));
  out_.Append('\\');
  if (place != std::string_view::npos) return out_.Append(kNames[place]);
  out_.Append("u00");
  out_.Append(text::kHexDigits[c >> 4]);
  out_.Append(text::kHexDigits[c & 15]);
}

void JsonWriter::WriteText() {
  std::size_t bytes = 0;
  const char* text = lua_tolstring(lua_, -1, &bytes);
  out_.Append('"');
  for (const char c : std::string_view(text, bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '"' || c == '\\' || c == '/') {
      WriteEscaped(byte);
    } else {
      out_.Append(c);
    }
  }
  out_.Append('"');
}

void JsonWriter::WriteNumber() {
  const lua_Number number = lua_tonumber(lua_, -1);
  if (!std::isfinite(number)) {
    Raise(lua_, "Cannot serialise number: must not be NaN or Inf");
  }
  std::array<char, 32> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                  std::chars_format::general, kDigitsWritten)
                        .ptr;
  out_.Append({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void JsonWriter::WriteTable() {
  if (++depth_ > kJsonDepthMax) {
    Raise(lua_, "Cannot serialise, excessive nesting (%d)", depth_);
  }
  luaL_checkstack(lua_, 3, "Cannot serialise, excessive nesting");
  const std::int64_t length = LengthOfArray();
  if (length > 0) {
    WriteArray(length);
  } else {
    WriteObject();
  }
  --depth_;
}

// Returns the largest key if all keys are positive whole numbers, otherwise kIsObject.
std::int64_t JsonWriter::LengthOfArray() {
  std::int64_t largest = 0;
  std::int64_t elements = 0;
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    lua_pop(lua_, 1);
    Sandbox::Of(lua_).budget().Charge(lua_, 1);
    const lua_Number key = lua_type(lua_, -1) == LUA_TNUMBER ? lua_tonumber(lua_, -1) : 0;
    if (!(key >= 1 && key < 1e9 && key == std::floor(key))) {
      lua_pop(lua_, 1);
      return kIsObject;
    }
    largest = std::max(largest, static_cast<std::int64_t>(key));
    ++elements;
  }
  if (largest > kSparseElementsMax && largest > 2 * elements) {
    Raise(lua_, "Cannot serialise table: excessively sparse array");
  }
  return largest;
}

void JsonWriter::WriteArray(std::int64_t length) {
  out_.Append('[');
  for (std::int64_t i = 1; i <= length; ++i) {
    if (i > 1) out_.Append(',');
    lua_rawgeti(lua_, -1, static_cast<int>(i));
    WriteValue();
    lua_pop(lua_, 1);
  }
  out_.Append(']');
}

void JsonWriter::WriteObject() {
  bool is_first = true;
  out_.Append('{');
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    if (!is_first) out_.Append(',');
    is_first = false;
    WriteKey();
    out_.Append(':');
    WriteValue();
    lua_pop(lua_, 1);
  }
  out_.Append('}');
}

// REQUIRES: the key is directly below its value on the stack.
void JsonWriter::WriteKey() {
  lua_pushvalue(lua_, -2);
  const int type = lua_type(lua_, -1);
  if (type == LUA_TSTRING) {
    WriteText();
  } else if (type == LUA_TNUMBER) {
    out_.Append('"');
    WriteNumber();
    out_.Append('"');
  } else {
    Raise(lua_, "Cannot serialise %s: table key must be a number or string",
          lua_typename(lua_, type));
  }
  lua_pop(lua_, 1);
}

}  // namespace

void WriteJson(lua_State* lua, BoundedText& out) { JsonWriter(lua, out).WriteValue(); }

}  // namespace fairlock::script
