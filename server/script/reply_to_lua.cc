#include "server/script/reply_to_lua.h"

#include <cassert>
#include <lua.hpp>

#include "protocol/reply_element.h"
#include "protocol/reply_scanner.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

using protocol::ReplyElement;
using protocol::ReplyType;

void PushText(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

// Pushes a table whose only field is that text.
void PushTextIn(lua_State* lua, const char* field, std::string_view text) {
  lua_createtable(lua, 0, 1);
  PushText(lua, text);
  lua_setfield(lua, -2, field);
}

// A field of error tables, with the same name as in Redis. It shows that the error of a command has
// already been counted.
constexpr const char* kCountedField = "ignore_error_stats_update";

void MarkAsCounted(lua_State* lua) {
  lua_pushboolean(lua, 1);
  lua_setfield(lua, -2, kCountedField);
}

// The caller must have reserved the stack slots before the command ran.
class ReplyPusher {
 public:
  ReplyPusher(lua_State* lua, std::string_view reply) : lua_(lua), reply_(reply) {}

  ReplyType PushNext();

 private:
  void PushElements(std::uint64_t count);

  lua_State* lua_;
  std::string_view reply_;
  std::size_t at_ = 0;
};

ReplyType ReplyPusher::PushNext() {
  const ReplyElement element = protocol::ReadReplyElement(reply_, at_, reply_.size());
  assert(element.status == ReplyElement::Status::kWhole && !element.is_attribute);
  at_ = element.end;
  Sandbox::Of(lua_).budget().Charge(lua_, 1);
  switch (element.type) {
    case ReplyType::kNull:
      lua_pushboolean(lua_, 0);
      break;
    case ReplyType::kSimple:
      PushTextIn(lua_, "ok", element.text);
      break;
    case ReplyType::kError:
      PushError(lua_, element.text);
      MarkAsCounted(lua_);
      break;
    case ReplyType::kInteger:
      lua_pushnumber(lua_, static_cast<lua_Number>(element.integer));
      break;
    case ReplyType::kBulk:
      PushText(lua_, element.text);
      break;
    case ReplyType::kArray:
      PushElements(element.children);
      break;
    default:
      assert(false);  // RESP3 only
  }
  return element.type;
}

void ReplyPusher::PushElements(std::uint64_t count) {
  lua_createtable(lua_, static_cast<int>(count), 0);
  for (std::uint64_t i = 1; i <= count; ++i) {
    PushNext();
    lua_rawseti(lua_, -2, static_cast<int>(i));
  }
}

}  // namespace

bool PushReply(lua_State* lua, std::string_view reply) {
  return ReplyPusher(lua, reply).PushNext() == ReplyType::kError;
}

void PushError(lua_State* lua, std::string_view text) { PushTextIn(lua, "err", text); }

bool IsCounted(lua_State* lua) {
  lua_pushstring(lua, kCountedField);
  lua_rawget(lua, -2);
  const bool is_counted = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 1);
  return is_counted;
}

}  // namespace fairlock::script
