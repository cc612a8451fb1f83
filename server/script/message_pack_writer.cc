#include "server/script/message_pack_writer.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <lua.hpp>
#include <string_view>

#include "server/script/message_pack.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

class MessagePackWriter {
 public:
  MessagePackWriter(lua_State* lua, BoundedText& out) : lua_(lua), out_(out) {}

  void WriteValue();

 private:
  void WriteNumber(lua_Number number);
  void WritePositive(std::uint64_t number);
  void WriteNegative(std::int64_t number);
  void WriteText(std::string_view text);
  void WriteTable();
  // Writes a tag, or a tag with a small number in its low bits.
  void WriteByte(std::uint8_t byte) { out_.Append(static_cast<char>(byte)); }
  void WriteCount(std::uint8_t small, std::size_t small_max, std::uint8_t of_2_bytes,
                  std::size_t count);
  template <typename Number>
  void WriteBigEndian(std::uint8_t tag, Number number);
  bool IsArray();

  lua_State* lua_;
  BoundedText& out_;
  int depth_ = 0;
};

template <typename Number>
void MessagePackWriter::WriteBigEndian(std::uint8_t tag, Number number) {
  WriteByte(tag);
  for (int shift = 8 * (static_cast<int>(sizeof number) - 1); shift >= 0; shift -= 8) {
    WriteByte(static_cast<std::uint8_t>(number >> shift));
  }
}

void MessagePackWriter::WriteValue() {
  Sandbox::Of(lua_).budget().Charge(lua_, 1);
  switch (lua_type(lua_, -1)) {
    case LUA_TSTRING: {
      std::size_t bytes = 0;
      const char* text = lua_tolstring(lua_, -1, &bytes);
      return WriteText({text, bytes});
    }
    case LUA_TBOOLEAN:
      return WriteByte(lua_toboolean(lua_, -1) != 0 ? kTagTrue : kTagFalse);
    case LUA_TNUMBER:
      return WriteNumber(lua_tonumber(lua_, -1));
    case LUA_TTABLE:
      if (depth_ < kMessagePackDepthMax) return WriteTable();
      [[fallthrough]];
    default:
      WriteByte(kTagNil);
  }
}

void MessagePackWriter::WriteNumber(lua_Number number) {
  constexpr lua_Number kEnd = 0x1p63;
  if (number >= -kEnd && number < kEnd && number == std::trunc(number)) {
    const auto whole = static_cast<std::int64_t>(number);
    return whole >= 0 ? WritePositive(static_cast<std::uint64_t>(whole)) : WriteNegative(whole);
  }
  const auto single = static_cast<float>(number);
  if (static_cast<lua_Number>(single) == number) {
    WriteBigEndian(kTagFloat, std::bit_cast<std::uint32_t>(single));
  } else {
    WriteBigEndian(kTagDouble, std::bit_cast<std::uint64_t>(number));
  }
}

void MessagePackWriter::WritePositive(std::uint64_t number) {
  if (number <= kFixPositiveMax) {
    WriteByte(static_cast<std::uint8_t>(number));
  } else if (number <= std::numeric_limits<std::uint8_t>::max()) {
    WriteBigEndian(kTagUint8, static_cast<std::uint8_t>(number));
  } else if (number <= std::numeric_limits<std::uint16_t>::max()) {
    WriteBigEndian(kTagUint16, static_cast<std::uint16_t>(number));
  } else if (number <= std::numeric_limits<std::uint32_t>::max()) {
    WriteBigEndian(kTagUint32, static_cast<std::uint32_t>(number));
  } else {
    WriteBigEndian(kTagUint64, number);
  }
}

void MessagePackWriter::WriteNegative(std::int64_t number) {
  if (number >= kFixNegativeMin) {
    WriteByte(static_cast<std::uint8_t>(number));
  } else if (number >= std::numeric_limits<std::int8_t>::min()) {
    WriteBigEndian(kTagInt8, static_cast<std::uint8_t>(number));
  } else if (number >= std::numeric_limits<std::int16_t>::min()) {
    WriteBigEndian(kTagInt16, static_cast<std::uint16_t>(number));
  } else if (number >= std::numeric_limits<std::int32_t>::min()) {
    WriteBigEndian(kTagInt32, static_cast<std::uint32_t>(number));
  } else {
    WriteBigEndian(kTagInt64, static_cast<std::uint64_t>(number));
  }
}

// `of_2_bytes` is the tag of a count of 2 bytes, and the next tag is that of 4 bytes.
void MessagePackWriter::WriteCount(std::uint8_t small, std::size_t small_max,
                                   std::uint8_t of_2_bytes, std::size_t count) {
  if (count <= small_max) {
    WriteByte(static_cast<std::uint8_t>(small | count));
  } else if (count <= std::numeric_limits<std::uint16_t>::max()) {
    WriteBigEndian(of_2_bytes, static_cast<std::uint16_t>(count));
  } else {
    WriteBigEndian(static_cast<std::uint8_t>(of_2_bytes + 1), static_cast<std::uint32_t>(count));
  }
}

void MessagePackWriter::WriteText(std::string_view text) {
  if (text.size() > kFixTextMax && text.size() <= std::numeric_limits<std::uint8_t>::max()) {
    WriteBigEndian(kTagText8, static_cast<std::uint8_t>(text.size()));
  } else {
    WriteCount(kFixText, kFixTextMax, kTagText16, text.size());
  }
  out_.Append(text);
}

// Whether the keys are 1 to n.
bool MessagePackWriter::IsArray() {
  lua_Number largest = 0;
  lua_Number count = 0;
  lua_pushnil(lua_);
  while (lua_next(lua_, -2) != 0) {
    lua_pop(lua_, 1);
    Sandbox::Of(lua_).budget().Charge(lua_, 1);
    const lua_Number key = lua_type(lua_, -1) == LUA_TNUMBER ? lua_tonumber(lua_, -1) : 0;
    if (!(key >= 1 && key == std::floor(key))) {
      lua_pop(lua_, 1);
      return false;
    }
    largest = std::fmax(largest, key);
    ++count;
  }
  return largest == count;
}

void MessagePackWriter::WriteTable() {
  ++depth_;
  luaL_checkstack(lua_, 3, "in function table_to_msgpack");
  if (IsArray()) {
    const std::size_t length = lua_objlen(lua_, -1);
    WriteCount(kFixArray, kFixArrayMax, kTagArray16, length);
    for (std::size_t i = 1; i <= length; ++i) {
      lua_rawgeti(lua_, -1, static_cast<int>(i));
      WriteValue();
      lua_pop(lua_, 1);
    }
  } else {
    std::size_t count = 0;
    for (lua_pushnil(lua_); lua_next(lua_, -2) != 0; lua_pop(lua_, 1)) ++count;
    WriteCount(kFixMap, kFixArrayMax, kTagMap16, count);
    for (lua_pushnil(lua_); lua_next(lua_, -2) != 0; lua_pop(lua_, 1)) {
      lua_pushvalue(lua_, -2);
      WriteValue();
      lua_pop(lua_, 1);
      WriteValue();
    }
  }
  --depth_;
}

}  // namespace

void WriteMessagePack(lua_State* lua, BoundedText& out) {
  MessagePackWriter(lua, out).WriteValue();
}

}  // namespace fairlock::script
