// The receive buffer of one turn.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace fairlock::net {

// One large buffer with a bump pointer, so that idle connections need no buffer. Kept bytes are
// valid until Clear. Pages that no turn has ever needed do not occupy memory. Loop-confined.
class TurnArena {
 public:
  static constexpr std::size_t kBytes = 4 * 1024 * 1024;
  static constexpr std::size_t kWindowBytes = 64 * 1024;

  // Called at the beginning of a turn.
  void Clear() { used_bytes_ = 0; }

  // Whether no window is left, so that further ready connections are read in the next turn.
  bool is_full() const { return kBytes - used_bytes_ < kWindowBytes; }
  std::size_t used_bytes() const { return used_bytes_; }

  // The buffer for the next read. It stays the same until bytes in it are kept. REQUIRES: not full.
  std::span<char> window() {
    assert(!is_full());
    return {bytes_.get() + used_bytes_, kWindowBytes};
  }

  // Keeps the first bytes of the window.
  std::string_view Keep(std::size_t bytes) {
    assert(bytes <= kWindowBytes);
    const std::string_view kept(bytes_.get() + used_bytes_, bytes);
    used_bytes_ += bytes;
    return kept;
  }

 private:
  std::unique_ptr<char[]> bytes_ = std::make_unique_for_overwrite<char[]>(kBytes);
  std::size_t used_bytes_ = 0;
};

}  // namespace fairlock::net
