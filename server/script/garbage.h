// The garbage that scripts leave behind.
#pragma once

#include <cstddef>

#include "server/script/budget.h"
#include "server/script/lua_memory.h"

struct lua_State;

namespace fairlock::script {

// A little garbage is left to Lua, which collects it while scripts allocate. A lot of it is
// collected between two runs, in small steps: all at once, it could take half as long as the script
// that left it. Loop-confined.
class Garbage {
 public:
  Garbage(const LuaMemory& memory, Budget& budget) : memory_(memory), budget_(budget) {}

  // Collects all of it at once, before the first run.
  void CollectAll(lua_State* lua);
  // Called after a run or a compilation, which may have left more than `much_bytes`.
  void Note(std::size_t much_bytes);
  // Whether there is enough garbage to be collected.
  bool is_much() const { return cycles_left_ > 0; }
  // Collects a part of it, in about ten microseconds. REQUIRES: is_much(), and nothing runs.
  void CollectSome(lua_State* lua);

 private:
  void NoteCollected();

  const LuaMemory& memory_;
  Budget& budget_;
  int cycles_left_ = 0;           // cycles of Lua's collector
  std::size_t bytes_in_use_ = 0;  // after the last collection
};

}  // namespace fairlock::script
