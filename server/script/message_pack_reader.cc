#include "server/script/message_pack_reader.h"

#include <bit>
#include <lua.hpp>

#include "server/script/message_pack.h"
#include "server/script/raise.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

std::string_view MessagePackReader::Take(std::size_t bytes) {
  if (bytes > bytes_.size() - at_) Raise(lua_, "Missing bytes in input.");
  const std::string_view taken = bytes_.substr(at_, bytes);
  at_ += bytes;
  return taken;
}

template <typename Number>
Number MessagePackReader::TakeNumber() {
  std::uint64_t word = 0;
  for (const char byte : Take(sizeof(Number))) word = word << 8 | static_cast<unsigned char>(byte);
  return static_cast<Number>(word);
}

void MessagePackReader::Read() {
  Sandbox::Of(lua_).budget().Charge(lua_, 1);
  luaL_checkstack(lua_, 1, "in function mp_decode_to_lua_type");
  const auto tag = TakeNumber<std::uint8_t>();
  if (tag <= kFixPositiveMax) return lua_pushinteger(lua_, tag);
  if (tag >= kFixNegative) return lua_pushinteger(lua_, static_cast<std::int8_t>(tag));
  if (tag >= kTagNil) return ReadTagged(tag);
  if (tag >= kFixText) return ReadText(tag & kFixTextMax);
  if (tag >= kFixArray) return ReadArray(tag & kFixArrayMax);
  ReadMap(tag & kFixArrayMax);
}

void MessagePackReader::ReadTagged(std::uint8_t tag) {
  const auto push = [this](auto number) { lua_pushnumber(lua_, static_cast<lua_Number>(number)); };
  switch (tag) {
    case kTagNil:
      return lua_pushnil(lua_);
    case kTagFalse:
    case kTagTrue:
      return lua_pushboolean(lua_, tag == kTagTrue);
    case kTagFloat:
      return push(std::bit_cast<float>(TakeNumber<std::uint32_t>()));
    case kTagDouble:
      return push(std::bit_cast<lua_Number>(TakeNumber<std::uint64_t>()));
    case kTagUint8:
      return push(TakeNumber<std::uint8_t>());
    case kTagUint16:
      return push(TakeNumber<std::uint16_t>());
    case kTagUint32:
      return push(TakeNumber<std::uint32_t>());
    case kTagUint64:
      return push(TakeNumber<std::int64_t>());  // as in Redis
    case kTagInt8:
      return push(TakeNumber<std::int8_t>());
    case kTagInt16:
      return push(TakeNumber<std::int16_t>());
    case kTagInt32:
      return push(TakeNumber<std::int32_t>());
    case kTagInt64:
      return push(TakeNumber<std::int64_t>());
    case kTagText8:
      return ReadText(TakeNumber<std::uint8_t>());
    case kTagText16:
      return ReadText(TakeNumber<std::uint16_t>());
    case kTagText32:
      return ReadText(TakeNumber<std::uint32_t>());
    case kTagArray16:
      return ReadArray(TakeNumber<std::uint16_t>());
    case kTagArray32:
      return ReadArray(TakeNumber<std::uint32_t>());
    case kTagMap16:
      return ReadMap(TakeNumber<std::uint16_t>());
    case kTagMap32:
      return ReadMap(TakeNumber<std::uint32_t>());
    default:
      Raise(lua_, "Bad data format in input.");
  }
}

void MessagePackReader::ReadText(std::size_t bytes) {
  const std::string_view text = Take(bytes);
  Sandbox::Of(lua_).budget().ChargeBytes(lua_, text.size());
  lua_pushlstring(lua_, text.data(), text.size());
}

// Makes no room in advance, because the count may be anything.
void MessagePackReader::ReadArray(std::size_t count) {
  luaL_checkstack(lua_, 2, "in function mp_decode_to_lua_array");
  lua_newtable(lua_);
  for (std::size_t i = 1; i <= count; ++i) {
    Read();
    lua_rawseti(lua_, -2, static_cast<int>(i));
  }
}

void MessagePackReader::ReadMap(std::size_t count) {
  luaL_checkstack(lua_, 3, "in function mp_decode_to_lua_hash");
  lua_newtable(lua_);
  for (std::size_t i = 0; i < count; ++i) {
    Read();
    Read();
    lua_settable(lua_, -3);
  }
}

}  // namespace fairlock::script
