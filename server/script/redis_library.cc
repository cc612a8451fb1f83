// redis: call and pcall, which call commands, and the other functions that scripts use.

#include <array>
#include <charconv>
#include <lua.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_scanner.h"
#include "server/script/digest.h"
#include "server/script/library_table.h"
#include "server/script/raise.h"
#include "server/script/reply_to_lua.h"
#include "server/script/sandbox.h"

namespace fairlock::script {

namespace {

// A command is charged as this many steps, more than one instruction.
constexpr std::uint64_t kStepsPerCommand = 50;
constexpr std::size_t kLogBytesMax = 1024;
// Charged as enough steps for the clock to be read.
constexpr std::size_t kHashedBytesAtOnce = std::size_t{256} * 1024;
// The stack slots that a reply may need; the nesting depth of arrays bounds them.
constexpr int kReplySlots = static_cast<int>(protocol::ReplyScanner::kDepthMax) + 8;
// Approximately the maximum memory that a command's reply takes if the command changes something.
constexpr std::size_t kReplyMemoryBytes = std::size_t{64} * 1024;
// After a reply longer than this, the buffer is freed.
constexpr std::size_t kReplyBytesKept = std::size_t{64} * 1024;

int RaiseError(lua_State* lua, std::string_view text) {
  PushError(lua, text);
  return lua_error(lua);
}

std::string_view TextAt(lua_State* lua, int index) {
  std::size_t bytes = 0;
  const char* text = lua_tolstring(lua, index, &bytes);
  return text == nullptr ? std::string_view() : std::string_view(text, bytes);
}

// Converts a number to a command argument, with all its digits; Lua itself would write only 14.
void ReplaceNumberByText(lua_State* lua, int index) {
  constexpr int kDigits = 17;
  std::array<char, 32> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                  lua_tonumber(lua, index), std::chars_format::general, kDigits)
                        .ptr;
  lua_pushlstring(lua, digits.data(), static_cast<std::size_t>(end - digits.data()));
  lua_replace(lua, index);
}

// Returns the error in the arguments, or null if there is none.
const char* TakeArguments(lua_State* lua, std::vector<std::string_view>& arguments) {
  const int count = lua_gettop(lua);
  if (count == 0) return "ERR Please specify at least one argument for this redis lib call";
  arguments.clear();
  std::uint64_t bytes = 0;
  for (int i = 1; i <= count; ++i) {
    const int type = lua_type(lua, i);
    if (type == LUA_TNUMBER) {
      ReplaceNumberByText(lua, i);
    } else if (type != LUA_TSTRING) {
      return "ERR Lua redis lib command arguments must be strings or integers";
    }
    arguments.push_back(TextAt(lua, i));
    bytes += arguments.back().size();
  }
  Sandbox::Of(lua).budget().Charge(lua, kStepsPerCommand);
  Sandbox::Of(lua).budget().ChargeBytes(lua, bytes);
  return nullptr;
}

// Reserves what the reply will need before the command has an effect. Otherwise a script could fail
// after a change without knowing about the change. The reply reuses the stack slots of the
// arguments.
void AskForRoom(lua_State* lua) {
  const int missing = kReplySlots - lua_gettop(lua);
  if (missing > 0) luaL_checkstack(lua, missing, "too many values");
  if (!Sandbox::Of(lua).memory().HasRoomFor(kReplyMemoryBytes)) RaiseText(lua, "not enough memory");
}

// Replaces the arguments with the reply; returns true if it is an error.
bool PushReplyOfCommand(lua_State* lua) {
  Sandbox& sandbox = Sandbox::Of(lua);
  if (const char* wrong = TakeArguments(lua, sandbox.arguments())) {
    PushError(lua, wrong);
    return true;
  }
  const RunState& run = sandbox.run();
  std::string& reply = sandbox.reply();
  reply.clear();
  AskForRoom(lua);
  run.host->Execute({sandbox.arguments(), run.is_read_only}, reply);
  lua_settop(lua, 0);
  sandbox.budget().ChargeReply(lua, reply.size());
  const bool is_error = PushReply(lua, reply);
  if (reply.capacity() > kReplyBytesKept) std::string().swap(reply);
  return is_error;
}

int Call(lua_State* lua) {
  if (PushReplyOfCommand(lua)) return lua_error(lua);
  return 1;
}

int ProtectedCommand(lua_State* lua) {
  PushReplyOfCommand(lua);
  return 1;
}

// Checks that the only argument is a string, as status_reply and error_reply require. If not,
// pushes an error and returns false.
bool CheckReplyText(lua_State* lua) {
  if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING) return true;
  PushError(lua, "ERR wrong number or type of arguments");
  return false;
}

int StatusReply(lua_State* lua) {
  if (!CheckReplyText(lua)) return 1;
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

// A text without a space has no error code, so one is added.
int ErrorReply(lua_State* lua) {
  if (!CheckReplyText(lua)) return 1;
  std::string_view text = TextAt(lua, 1);
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool has_word = text.find(' ') != std::string_view::npos;
  PushError(lua, has_word ? std::string(text) : "ERR " + std::string(text));
  return 1;
}

int Sha1Hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) return RaiseError(lua, "ERR wrong number of arguments");
  std::string_view text = TextAt(lua, 1);
  DigestMaker maker;
  // A long text is charged in pieces, because it takes many milliseconds.
  while (true) {
    const std::string_view piece = text.substr(0, kHashedBytesAtOnce);
    Sandbox::Of(lua).budget().Charge(lua, 1 + piece.size() / 4);
    maker.Add(piece);
    if (piece.size() == text.size()) break;
    text.remove_prefix(piece.size());
  }
  const std::string hex = HexOf(maker.Finish());
  lua_pushlstring(lua, hex.data(), hex.size());
  return 1;
}

int Log(lua_State* lua) {
  const int count = lua_gettop(lua);
  if (count < 2) return RaiseError(lua, "ERR redis.log() requires two arguments or more.");
  if (lua_type(lua, 1) != LUA_TNUMBER) {
    return RaiseError(lua, "ERR First argument must be a number (log level).");
  }
  const lua_Number level = lua_tonumber(lua, 1);
  if (!(level >= 0 && level < 4)) return RaiseError(lua, "ERR Invalid debug level.");
  Sandbox& sandbox = Sandbox::Of(lua);
  sandbox.budget().Charge(lua, kStepsPerCommand);
  if (sandbox.run().log_lines >= sandbox.limits().log_lines_max) return 0;
  ++sandbox.run().log_lines;
  std::string line;
  for (int i = 2; i <= count && line.size() < kLogBytesMax; ++i) {
    if (lua_isstring(lua, i) == 0) continue;
    if (!line.empty()) line += ' ';
    line += TextAt(lua, i).substr(0, kLogBytesMax - line.size());
  }
  sandbox.run().host->Log(static_cast<LogLevel>(level), line);
  return 0;
}

// Does nothing, because scripts are not replicated.
int ReplicateCommands(lua_State* lua) {
  lua_pushboolean(lua, 1);
  return 1;
}

}  // namespace

void PushRedisLibrary(lua_State* lua) {
  lua_newtable(lua);
  AddFunctions(lua, {{"call", Call},
                     {"error_reply", ErrorReply},
                     {"log", Log},
                     {"pcall", ProtectedCommand},
                     {"replicate_commands", ReplicateCommands},
                     {"sha1hex", Sha1Hex},
                     {"status_reply", StatusReply}});
  lua_Integer level = 0;
  for (const char* name : {"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"}) {
    lua_pushinteger(lua, level++);
    lua_setfield(lua, -2, name);
  }
}

}  // namespace fairlock::script
