// The buffers of one turn, and the requests that it received only in part.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairlock::net {

// The receive buffer of one turn: one large buffer with a bump pointer, so that idle connections
// need no buffer. Kept bytes are valid until Clear. Pages that no turn has ever needed do not
// occupy memory. Loop-confined.
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

// Output buffers that busy connections share.
//
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

// The base class that links a connection into the list of those that have sent only part of a
// request. Leaves the list when it is destroyed.
class PartialRequest : public boost::intrusive::list_base_hook<
                           boost::intrusive::tag<struct PartialRequestTag>,
                           boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  std::int64_t begun_at_ms() const { return begun_at_ms_; }

 protected:
  ~PartialRequest() = default;

  bool is_partial() const { return is_linked(); }
  void EndPartial() {
    if (is_linked()) unlink();
  }
  // `all` is in the order in which the requests began. REQUIRES: now_ms is not before the beginning
  // of the newest.
  template <typename List>
  void BeginPartial(List& all, std::int64_t now_ms) {
    EndPartial();
    begun_at_ms_ = now_ms;
    all.push_back(*this);
  }
  // Undoes EndPartial. REQUIRES: all requests that began earlier are overdue too.
  template <typename List>
  void ResumePartial(List& all) {
    all.push_front(*this);
  }

 private:
  std::int64_t begun_at_ms_ = 0;
};

using PartialRequests =
    boost::intrusive::list<PartialRequest, boost::intrusive::base_hook<PartialRequest>,
                           boost::intrusive::constant_time_size<false>>;

}  // namespace fairlock::net
