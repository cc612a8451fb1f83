// Counts and limits the memory of a Lua state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace fairlock::script {

// Lua's allocator. An allocation fails if it would exceed the limit, or if a single block would be
// larger than kBlockBytesMax; Lua turns that into an error in the script. Loop-confined.
class LuaMemory {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
  // A string, or a table's array, is one block. Nothing can interrupt a single instruction or a
  // conversion to a number, so this bounds the time that they take: several tens of milliseconds.
  static constexpr std::size_t kBlockBytesMax = std::size_t{8} * 1024 * 1024;

  std::size_t used_bytes() const { return used_bytes_; }
  // The total number of bytes ever allocated; never decreases.
  std::uint64_t taken_bytes() const { return taken_bytes_; }
  void set_limit_bytes(std::size_t limit_bytes) { limit_bytes_ = limit_bytes; }
  bool HasRoomFor(std::size_t bytes) const {
    return used_bytes_ <= limit_bytes_ && bytes <= limit_bytes_ - used_bytes_;
  }

  // A lua_Alloc function. Returns null if a limit would be exceeded. Shrinking a block always
  // succeeds.
  void* Resize(void* block, std::size_t old_bytes, std::size_t new_bytes);

 private:
  std::size_t used_bytes_ = 0;
  std::size_t limit_bytes_ = kUnlimited;
  std::uint64_t taken_bytes_ = 0;
};

}  // namespace fairlock::script
