// How much a script may still do.
#pragma once

#include <cstdint>

#include "server/script/host.h"
#include "server/script/lua_memory.h"
#include "server/script/script_limits.h"

struct lua_Debug;
struct lua_State;

namespace fairlock::script {

// Counts the steps of one run after the other. The instructions are counted by a hook of Lua; a
// function of the library says itself what it is about to do. What takes memory is charged for it.
//
// The clock starts with the run and is read after every command, whatever the command cost in
// steps. A single instruction can take long too, such as joining two strings of megabytes. So the
// clock is read with each count, and the counts become shorter while they take long.
//
// Used up, it raises an error in every instruction that follows, so that a script cannot catch it.
// Loop-confined.
class Budget {
 public:
  enum class UsedUp : std::uint8_t { kNot, kSteps, kTime };

  explicit Budget(const LuaMemory& memory) : memory_(memory) {}

  void Begin(lua_State* lua, const ScriptLimits& limits, Host& host);

  // Raises an error of Lua if it is used up.
  void Charge(lua_State* lua, std::uint64_t steps);
  // For work on that many bytes.
  void ChargeBytes(lua_State* lua, std::uint64_t bytes) { Charge(lua, bytes / kBytesPerStep); }
  // After a command, for a reply of that many bytes: charges it and reads the clock.
  void ChargeReply(lua_State* lua, std::uint64_t bytes);

  UsedUp used_up() const { return used_up_; }
  std::uint64_t steps() const { return steps_; }

 private:
  static constexpr std::uint64_t kBytesPerStep = 32;

  static void OnCount(lua_State* lua, lua_Debug* activation);
  void NoticeCount(lua_State* lua);
  // Reads the clock; returns how long ago it was read before.
  std::uint64_t WatchTime(lua_State* lua);
  void AdaptCount(lua_State* lua, std::uint64_t elapsed_ns);
  void SetCount(lua_State* lua, int count);
  void Stop(lua_State* lua, UsedUp reason);
  void RaiseIfUsedUp(lua_State* lua) const;

  const LuaMemory& memory_;
  Host* host_ = nullptr;
  UsedUp used_up_ = UsedUp::kNot;
  int count_ = 0;  // instructions until the hook is called
  std::uint64_t steps_ = 0;
  std::uint64_t steps_max_ = 0;
  std::uint64_t time_max_ns_ = 0;
  std::uint64_t steps_at_look_ = 0;
  std::uint64_t taken_bytes_ = 0;  // of memory, charged
  std::uint64_t begun_ns_ = 0;
  std::uint64_t looked_ns_ = 0;
};

}  // namespace fairlock::script
