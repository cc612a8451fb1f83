#include "server/script/lua_memory.h"

#include <cstdlib>

namespace fairlock::script {

void* LuaMemory::Resize(void* block, std::size_t old_bytes, std::size_t new_bytes) {
  if (new_bytes == 0) {
    std::free(block);
    used_bytes_ -= old_bytes;
    return nullptr;
  }
  if (new_bytes > old_bytes) {
    if (new_bytes > kBlockBytesMax) return nullptr;
    const std::size_t more_bytes = new_bytes - old_bytes;
    if (used_bytes_ > limit_bytes_ || more_bytes > limit_bytes_ - used_bytes_) return nullptr;
    taken_bytes_ += more_bytes;
  }
  void* resized = block == nullptr ? std::malloc(new_bytes) : std::realloc(block, new_bytes);
  if (resized != nullptr) used_bytes_ = used_bytes_ - old_bytes + new_bytes;
  return resized;
}

}  // namespace fairlock::script
