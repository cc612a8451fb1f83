// The memory of a Lua state, counted and bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace fairlock::script {

// Lua asks before it takes: beyond the limit it is told that there is no memory, which it makes an
// error of the script. Loop-confined.
class LuaMemory {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  std::size_t used_bytes() const { return used_bytes_; }
  // All that was ever taken; it never falls.
  std::uint64_t taken_bytes() const { return taken_bytes_; }
  void set_limit_bytes(std::size_t limit_bytes) { limit_bytes_ = limit_bytes; }
  bool HasRoomFor(std::size_t bytes) const {
    return used_bytes_ <= limit_bytes_ && bytes <= limit_bytes_ - used_bytes_;
  }

  // As lua_Alloc; null if the limit is in the way. Less memory than before is always given.
  void* Resize(void* block, std::size_t old_bytes, std::size_t new_bytes);

 private:
  std::size_t used_bytes_ = 0;
  std::size_t limit_bytes_ = kUnlimited;
  std::uint64_t taken_bytes_ = 0;
};

}  // namespace fairlock::script
