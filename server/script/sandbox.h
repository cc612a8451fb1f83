// The Lua state in which scripts run, with nothing in it that reaches outside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/script/budget.h"
#include "server/script/host.h"
#include "server/script/lua_memory.h"
#include "server/script/script_limits.h"

struct lua_State;

namespace fairlock::script {

// What lasts for one run.
struct RunState {
  Host* host = nullptr;
  bool is_read_only = false;
  std::uint32_t log_lines = 0;
};

// One for all scripts. What a script can write to lives as long as its run, and what is there for
// all cannot be written to, so scripts learn nothing of each other:
//   1. The table of globals, and every library, is an empty table that reads from the real one; a
//      write to it is an error, and so is rawset, table.insert and whatever else writes past
//      metatables.
//   2. KEYS and ARGV are new in each run. Only the state of math.random continues.
//   3. There is no function that gives out an environment, a metatable of ours, an upvalue, or code
//      that was not compiled from the text of a script.
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
  RunState& run() { return run_; }
  const ScriptLimits& limits() const { return limits_; }
  void set_limits(const ScriptLimits& limits) { limits_ = limits; }

  // From here to the end, memory is bounded, so that whatever takes some can raise an error and
  // must be in protected mode.
  void BoundMemory();
  void UnboundMemory();
  // Also counts what the script does.
  void BeginRun(const RunState& run);
  void EndRun();
  // When a run or a compilation left much behind it, clears it up; else Lua does that bit by bit.
  void CollectGarbageIfMuch();

  // REQUIRES: a value on top, which is popped. Not for scripts.
  void SetGlobal(const char* name);

  // Of math.random, for nrand48.
  std::array<std::uint16_t, 3>& random() { return random_; }

  // Scratch of redis.call.
  std::string& reply() { return reply_; }
  std::vector<std::string_view>& arguments() { return arguments_; }

 private:
  static int OpenLibraries(lua_State* lua);
  void CollectGarbage();

  ScriptLimits limits_;
  LuaMemory memory_;
  Budget budget_;
  RunState run_;
  std::array<std::uint16_t, 3> random_;
  std::string reply_;
  std::vector<std::string_view> arguments_;
  lua_State* lua_ = nullptr;
  int globals_ = 0;                       // the real table, in the registry
  std::size_t collected_used_bytes_ = 0;  // after the last whole collection
};

}  // namespace fairlock::script
