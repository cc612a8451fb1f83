#include "server/script/lua_to_reply.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <lua.hpp>
#include <string>

#include "protocol/reply_scanner.h"
#include "server/script/raise.h"
#include "server/script/reply_to_lua.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

using protocol::RespVersion;

// The maximum number of bytes that an element takes besides its text: for its type, a number and
// the line ends.
constexpr std::size_t kElementBytesMax = 32;

// Rounds towards zero; a number outside the 64-bit range becomes the smallest integer, as in Redis.
std::int64_t Whole(lua_Number number) {
  constexpr lua_Number kLimit = 9223372036854775808.0;
  if (number > -kLimit && number < kLimit) return static_cast<std::int64_t>(number);
  return std::numeric_limits<std::int64_t>::min();
}

void AppendLine(std::string& out, char kind, std::string_view text) {
  out.push_back(kind);
  const auto begin = static_cast<std::ptrdiff_t>(out.size());
  out.append(text);
  std::replace_if(
      out.begin() + begin, out.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  out.append("\r\n");
}

std::string_view TextOf(lua_State* lua) {
  std::size_t bytes = 0;
  const char* text = lua_tolstring(lua, -1, &bytes);
  return {text, bytes};
}

class ReplyBuilder {
 public:
  ReplyBuilder(lua_State* lua, RespVersion version, std::string& out)
      : lua_(lua), out_(out), writer_(out, version), begin_(out.size()) {}

  void Append();
  // True if the reply itself is an error, not if only one of its elements is.
  bool is_error() const { return is_error_; }

 private:
  void AppendTable();
  bool AppendByField();
  bool PushField(const char* name, int type);
  void AppendElements();
  void CheckSize(std::size_t text_bytes);
  std::string_view CheckedText();

  lua_State* lua_;
  std::string& out_;
  protocol::ReplyWriter writer_;
  std::size_t begin_;
  std::size_t depth_ = 0;  // nesting of tables
  bool is_error_ = false;
};

// Called before an element whose text has `text_bytes` bytes is appended.
void ReplyBuilder::CheckSize(std::size_t text_bytes) {
  const std::size_t bytes_max = Sandbox::Of(lua_).limits().reply_bytes_max;
  if (out_.size() - begin_ + text_bytes + kElementBytesMax <= bytes_max) return;
  const std::string text = "the reply of the script is too long: up to " +
                           std::to_string(bytes_max) + " bytes are allowed";
  RaiseText(lua_, text);
}

std::string_view ReplyBuilder::CheckedText() {
  const std::string_view text = TextOf(lua_);
  CheckSize(text.size());
  return text;
}

void ReplyBuilder::Append() {
  Sandbox::Of(lua_).budget().Charge(lua_, 1);
  CheckSize(0);
  switch (lua_type(lua_, -1)) {
    case LUA_TSTRING:
      return writer_.Bulk(CheckedText());
    case LUA_TNUMBER:
      return writer_.Integer(Whole(lua_tonumber(lua_, -1)));
    case LUA_TBOOLEAN:
      return lua_toboolean(lua_, -1) != 0 ? writer_.Integer(1) : writer_.Null();
    case LUA_TTABLE:
      return AppendTable();
    default:
      return writer_.Null();
  }
}

void ReplyBuilder::AppendTable() {
  if (++depth_ > protocol::ReplyScanner::kDepthMax) {
    RaiseText(lua_, "the reply of the script is nested too deep");
  }
  luaL_checkstack(lua_, 4, "the reply of the script is nested too deep");
  const int top = lua_gettop(lua_);
  const bool is_appended = AppendByField();
  lua_settop(lua_, top);
  if (!is_appended) AppendElements();
  --depth_;
}

// Pushes the field and returns true if it has that type.
bool ReplyBuilder::PushField(const char* name, int type) {
  lua_pushstring(lua_, name);
  lua_rawget(lua_, -2);
  if (lua_type(lua_, -1) == type) return true;
  lua_pop(lua_, 1);
  return false;
}

bool ReplyBuilder::AppendByField() {
  if (PushField("err", LUA_TSTRING)) {
    const std::string_view text = CheckedText();
    AppendErrorLine(out_, text);
    if (depth_ == 1) is_error_ = true;
    lua_pushvalue(lua_, -2);  // the table
    if (!IsCounted(lua_)) Sandbox::Of(lua_).run().host->CountError(text);
  } else if (PushField("ok", LUA_TSTRING)) {
    AppendLine(out_, '+', CheckedText());
  } else {
    return false;
  }
  return true;
}

void ReplyBuilder::AppendElements() {
  int count = 0;
  for (bool is_there = true; is_there; ++count) {
    lua_rawgeti(lua_, -1, count + 1);
    is_there = !lua_isnil(lua_, -1);
    lua_pop(lua_, 1);
    Sandbox::Of(lua_).budget().Charge(lua_, 1);
  }
  --count;
  writer_.ArrayHeader(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) {
    lua_rawgeti(lua_, -1, i);
    Append();
    lua_pop(lua_, 1);
  }
}

}  // namespace

bool AppendReply(lua_State* lua, RespVersion version, std::string& out) {
  ReplyBuilder builder(lua, version, out);
  builder.Append();
  return builder.is_error();
}

void AppendErrorLine(std::string& out, std::string_view text) { AppendLine(out, '-', text); }

}  // namespace fairlock::script
