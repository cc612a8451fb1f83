#include "server/script/script_run.h"

#include <lua.hpp>
#include <span>
#include <string_view>

#include "server/script/interpreter.h"
#include "server/script/lua_to_reply.h"
#include "server/script/reply_to_lua.h"

namespace fairlock::script {

namespace {

// Data for the functions that Lua calls. They get the address of the frame.
struct Frame {
  Sandbox& sandbox;
  const Script& script;
  const RunOptions& options;
  std::string& out;
  std::string source = {};  // the chunk in which the error was raised: "@user_script", or empty
  int line = 0;
  bool is_error = false;  // whether the reply is an error
};

Frame& FrameOf(lua_State* lua, int index) {
  return *static_cast<Frame*>(lua_touserdata(lua, index));
}

void PushTexts(lua_State* lua, std::span<const std::string_view> texts) {
  lua_createtable(lua, static_cast<int>(texts.size()), 0);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    lua_pushlstring(lua, texts[i].data(), texts[i].size());
    lua_rawseti(lua, -2, static_cast<int>(i) + 1);
  }
}

int RunFrame(lua_State* lua) {
  Frame& frame = FrameOf(lua, 1);
  PushTexts(lua, frame.options.keys);
  frame.sandbox.SetGlobal("KEYS");
  PushTexts(lua, frame.options.arguments);
  frame.sandbox.SetGlobal("ARGV");
  lua_rawgeti(lua, LUA_REGISTRYINDEX, frame.script.function);
  lua_call(lua, 0, 1);
  frame.is_error = AppendReply(lua, frame.options.version, frame.out);
  return 0;
}

// Lua calls this where an uncaught error is raised, before it unwinds the stack. The upvalue is the
// frame. The error is passed on unchanged.
int NotePlace(lua_State* lua) {
  Frame& frame = FrameOf(lua, lua_upvalueindex(1));
  lua_Debug place;
  for (int level = 1; lua_getstack(lua, level, &place) != 0; ++level) {
    lua_getinfo(lua, "Sl", &place);
    if (place.currentline < 0) continue;  // one of our C functions, called by the script
    frame.source = place.source;
    frame.line = place.currentline;
    break;
  }
  return 1;
}

// Converts the error on top of the stack to the text of an error line.
std::string TextOfError(lua_State* lua) {
  if (lua_istable(lua, -1)) {
    lua_pushliteral(lua, "err");
    lua_rawget(lua, -2);
    const bool is_text = lua_type(lua, -1) == LUA_TSTRING;
    std::string text = is_text ? lua_tostring(lua, -1) : "ERR unknown error";
    lua_pop(lua, 1);
    return text;
  }
  const int type = lua_type(lua, -1);
  if (type == LUA_TBOOLEAN) return lua_toboolean(lua, -1) != 0 ? "ERR true" : "ERR false";
  const char* text = lua_tostring(lua, -1);
  return std::string("ERR ") + (text == nullptr ? lua_typename(lua, type) : text);
}

std::string TextOfStop(const Sandbox& sandbox, Budget::UsedUp reason) {
  const ScriptLimits& limits = sandbox.limits();
  const std::string used = reason == Budget::UsedUp::kSteps
                               ? std::to_string(limits.steps_max) + " steps"
                               : std::to_string(limits.time_max_ms) + " ms";
  return "ERR the script was stopped after " + used + ".";
}

void AppendFailure(lua_State* lua, const Frame& frame) {
  const Budget::UsedUp used_up = frame.sandbox.budget().used_up();
  const bool is_counted = used_up == Budget::UsedUp::kNot && lua_istable(lua, -1) && IsCounted(lua);
  std::string text =
      used_up == Budget::UsedUp::kNot ? TextOfError(lua) : TextOfStop(frame.sandbox, used_up);
  text += " script: " + HexOf(frame.script.digest);
  if (!frame.source.empty()) {
    text += ", on " + frame.source + ":" + std::to_string(frame.line) + ".";
  }
  AppendErrorLine(frame.out, text);
  if (!is_counted) frame.options.host.CountError(text);
}

// Lua calls this in protected mode, because pushing the arguments and the error handler takes
// memory too.
int ProtectRun(lua_State* lua) {
  lua_pushlightuserdata(lua, lua_touserdata(lua, 1));
  lua_pushcclosure(lua, NotePlace, 1);
  lua_pushcfunction(lua, RunFrame);
  lua_pushvalue(lua, 1);
  if (lua_pcall(lua, 1, 0, -3) != 0) return lua_error(lua);
  return 0;
}

}  // namespace

bool RunScript(Sandbox& sandbox, const Script& script, const RunState& run,
               const RunOptions& options, std::string& out) {
  lua_State* lua = sandbox.lua();
  const std::size_t reply_begin = out.size();
  Frame frame{sandbox, script, options, out};
  sandbox.BeginRun(run);
  const int status = lua_cpcall(lua, ProtectRun, &frame);
  // Lifts the memory limit first: formatting the error may allocate, and this code does not run in
  // protected mode.
  sandbox.EndRun();
  if (status != 0) {
    out.resize(reply_begin);
    AppendFailure(lua, frame);
    frame.is_error = true;
    lua_settop(lua, 0);
  }
  for (const char* name : {"KEYS", "ARGV"}) {
    lua_pushnil(lua);
    sandbox.SetGlobal(name);
  }
  sandbox.garbage().Note(sandbox.limits().memory_bytes_max / 4);
  return frame.is_error;
}

}  // namespace fairlock::script
