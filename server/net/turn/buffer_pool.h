// Output buffers that busy connections share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fairlock::net {

// Busy connections allocate nothing in a turn, idle ones hold no buffer. Keeps at most
// kBuffersMax * kBufferBytesMax = 16 MiB. Loop-confined.
class BufferPool {
 public:
  static constexpr std::size_t kBuffersMax = 256;
  static constexpr std::size_t kBufferBytesMax = 64 * 1024;
  static constexpr std::size_t kNewBufferBytes = 512;

  // Gives the empty `buffer` memory, unless it has some.
  void Lend(std::string& buffer);
  // Empties `buffer` and takes over its memory.
  void Return(std::string& buffer);

  std::size_t size() const { return buffers_.size(); }

 private:
  std::vector<std::string> buffers_;
};

}  // namespace fairlock::net
