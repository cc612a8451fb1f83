// The Lua state in which scripts run, without access to anything outside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/script/budget.h"
#include "server/script/garbage.h"
#include "server/script/host.h"
#include "server/script/lua_memory.h"
#include "server/script/script_limits.h"

struct lua_State;

namespace fairlock::script {

// The state of one run.
struct RunState {
  Host* host = nullptr;
  bool is_read_only = false;
  std::uint32_t log_lines = 0;
  std::uint64_t used_ns = 0;  // how much of its time earlier scripts have used
};

// All scripts run in one Lua state. Scripts cannot exchange data through it: objects that a script
// can write to exist only during its run, and shared objects are read-only.
// 1. The table of globals, and every library, is an empty proxy that reads from the real table. A
//    write to it is an error, and so are rawset, table.insert and all other writes that bypass
//    metatables.
// 2. KEYS and ARGV are created anew for each run. Only the state of math.random persists.
// 3. No function returns an environment, one of our metatables, an upvalue, or code that was not
//    compiled from the text of a script.
// Loop-confined. Not reentrant.
class Sandbox {
 public:
  explicit Sandbox(const ScriptLimits& limits);
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  ~Sandbox();

  static Sandbox& Of(lua_State* lua);

  lua_State* lua() { return lua_; }
  LuaMemory& memory() { return memory_; }
  Budget& budget() { return budget_; }
  Garbage& garbage() { return garbage_; }
  RunState& run() { return run_; }
  const ScriptLimits& limits() const { return limits_; }
  void set_limits(const ScriptLimits& limits) { limits_ = limits; }

  // Limits memory until UnboundMemory is called. Meanwhile every allocation may raise a Lua error,
  // so it must happen in protected mode.
  void BoundMemory();
  void UnboundMemory();
  // Limits memory, and also counts the script's steps.
  void BeginRun(const RunState& run);
  void EndRun();
  // Sets the global to the value on top of the stack, and pops it. Scripts cannot call this.
  void SetGlobal(const char* name);

  // The state of math.random, in the form that nrand48 uses.
  std::array<std::uint16_t, 3>& random() { return random_; }

  // Scratch space for redis.call.
  std::string& reply() { return reply_; }
  std::vector<std::string_view>& arguments() { return arguments_; }

 private:
  static int OpenLibraries(lua_State* lua);

  ScriptLimits limits_;
  LuaMemory memory_;
  Budget budget_;
  Garbage garbage_;
  RunState run_;
  std::array<std::uint16_t, 3> random_;
  std::string reply_;
  std::vector<std::string_view> arguments_;
  lua_State* lua_ = nullptr;
  int globals_ = 0;  // registry reference of the real table of globals
};

}  // namespace fairlock::script
