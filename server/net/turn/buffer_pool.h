// Output buffers that busy connections share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fairlock::net {

// The pool lets busy connections work without allocating memory in a turn, and idle ones without a
// buffer. Keeps at most kBuffersMax * kBufferBytesMax = 16 MiB. Loop-confined.
class BufferPool {
 public:
  static constexpr std::size_t kBuffersMax = 256;
  static constexpr std::size_t kBufferBytesMax = 64 * 1024;
  static constexpr std::size_t kNewBufferBytes = 512;

  // Gives memory to the empty `buffer`, unless it already has some.
  void Lend(std::string& buffer);
  // Empties `buffer` and takes over its memory.
  void Return(std::string& buffer);

  std::size_t size() const { return buffers_.size(); }

 private:
  std::vector<std::string> buffers_;
};

}  // namespace fairlock::net
