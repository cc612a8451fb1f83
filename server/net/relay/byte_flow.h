// One direction of a relayed connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fairlock::net {

// Moves bytes from one socket to another without interpreting them, and passes on the end of the
// stream. It reads only when it has sent everything that it read before, so it buffers at most
// kBytesMax, and nothing while idle.
class ByteFlow {
 public:
  static constexpr std::size_t kBytesMax = 16 * 1024;

  enum class Step : std::uint8_t {
    kAwaitsBytes,  // call Move when the source is readable
    kAwaitsSpace,  // call Move when the destination is writable
    kEnded,        // the source has ended, and the destination has been told
    kFailed,       // one of the sockets has failed
  };

  // The sockets must be non-blocking and must outlive this object, which does not own them.
  ByteFlow(int from, int to) : from_(from), to_(to) {}

  // Reads at most once.
  Step Move();

 private:
  // The bytes that the destination has not taken remain in rest_.
  Step Send(const char* bytes, std::size_t count);

  const int from_;
  const int to_;
  std::string rest_;
};

}  // namespace fairlock::net
