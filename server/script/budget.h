// The steps and the time that a script may still use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/script/host.h"
#include "server/script/lua_memory.h"
#include "server/script/script_limits.h"

struct lua_Debug;
struct lua_State;

namespace fairlock::script {

// Counts the steps of each run. A Lua hook counts instructions. A library function charges its
// steps before it does the work. Allocated memory is charged too.
//
// The clock starts with the run and is read after every command, however few steps the command
// cost. A single instruction, such as joining two strings of several megabytes, can also take a
// long time. So the clock is read at each call of the hook too. The hook is called after fewer
// instructions while they are slow, and once the script has a long string or a large table, on
// which a single instruction or library function can work for milliseconds.
//
// Once the budget is used up, every further instruction raises an error, so it does not help a
// script to catch the error. Loop-confined.
class Budget {
 public:
  enum class UsedUp : std::uint8_t { kNot, kSteps, kTime };

  explicit Budget(const LuaMemory& memory) : memory_(memory) {}

  // `used_ns` of the time are used up already.
  void Begin(lua_State* lua, const ScriptLimits& limits, Host& host, std::uint64_t used_ns);

  // Raises a Lua error if the budget is used up.
  void Charge(lua_State* lua, std::uint64_t steps);
  // Charges for processing `bytes` bytes.
  void ChargeBytes(lua_State* lua, std::uint64_t bytes) { Charge(lua, bytes / kBytesPerStep); }
  // Called after a command: charges for the reply's bytes and reads the clock.
  void ChargeReply(lua_State* lua, std::uint64_t bytes);

  // Called when a block of that size has been allocated during the run. The next run may use a
  // block that one run has left, without an allocation, until all garbage has been collected.
  // ForgetBlocks is then called, between two runs.
  void NoticeBlock(lua_State* lua, std::size_t bytes);
  void ForgetBlocks();

  UsedUp used_up() const { return used_up_; }
  std::uint64_t steps() const { return steps_; }

 private:
  static constexpr std::uint64_t kBytesPerStep = 32;

  // A single instruction may take half a millisecond (comparing two strings of several megabytes).
  // If there were more instructions between two clock reads, a script could exceed its time by more
  // than 50 ms.
  static constexpr int kCountMax = 100;
  // The number of instructions between two clock reads, times the size of the largest block that
  // they may work on.
  static constexpr std::size_t kBlockBytesPerHook = LuaMemory::kBlockBytesMax;

  struct Hook {
    int count = 0;  // instructions between two calls
    int count_max = kCountMax;
    std::size_t largest_block_bytes = kBlockBytesPerHook / kCountMax;
  };

  static void OnCount(lua_State* lua, lua_Debug* activation);
  void NoticeCount(lua_State* lua);
  // Reads the clock; returns the time since the previous reading.
  std::uint64_t WatchTime(lua_State* lua);
  void AdaptCount(lua_State* lua, std::uint64_t elapsed_ns);
  void SetCount(lua_State* lua, int count);
  void Stop(lua_State* lua, UsedUp reason);
  void RaiseIfUsedUp(lua_State* lua) const;

  const LuaMemory& memory_;
  Host* host_ = nullptr;
  UsedUp used_up_ = UsedUp::kNot;
  Hook hook_;
  std::uint64_t steps_ = 0;
  std::uint64_t steps_max_ = 0;
  std::uint64_t time_max_ns_ = 0;
  std::uint64_t steps_at_look_ = 0;
  std::uint64_t taken_bytes_ = 0;  // memory already charged
  std::uint64_t begun_ns_ = 0;
  std::uint64_t looked_ns_ = 0;
};

}  // namespace fairlock::script
