#include "server/net/turn/turn_arena.h"

#include <cassert>
#include <utility>

namespace fairlock::net {

namespace {

// A string of up to this size is stored without an allocation.
constexpr std::size_t kInPlaceBytes = std::string().capacity();

bool HasMemory(const std::string& buffer) { return buffer.capacity() > kInPlaceBytes; }

}  // namespace

void BufferPool::Lend(std::string& buffer) {
  assert(buffer.empty());
  if (HasMemory(buffer)) return;
  if (buffers_.empty()) {
    buffer.reserve(kNewBufferBytes);
    return;
  }
  buffer.swap(buffers_.back());
  buffers_.pop_back();
}

void BufferPool::Return(std::string& buffer) {
  buffer.clear();
  if (!HasMemory(buffer)) return;
  if (buffers_.size() < kBuffersMax && buffer.capacity() <= kBufferBytesMax) {
    buffers_.push_back(std::move(buffer));
  }
  std::string().swap(buffer);
}

}  // namespace fairlock::net
