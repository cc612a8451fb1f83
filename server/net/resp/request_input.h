// The bytes that one connection has received but not executed yet.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/turn/turn_arena.h"

namespace fairlock::net {

// A queue of bytes, which are appended at the end and removed from the front.
//
// Holds no memory while it is empty. Views are valid until the next change.
class ByteQueue {
 public:
  std::string_view view() const { return std::string_view(bytes_).substr(begin_); }
  bool empty() const { return begin_ == bytes_.size(); }
  std::size_t size() const { return bytes_.size() - begin_; }
  // Allocated memory; 0 while it is empty.
  std::size_t memory_bytes() const { return empty() ? 0 : bytes_.capacity(); }

  void Append(std::string_view bytes);
  // Takes over `bytes` as its content, without the first `dropped` of them. REQUIRES: empty.
  void Adopt(std::string bytes, std::size_t dropped);
  void DropFront(std::size_t bytes);
  void Clear();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

// Bytes of this turn stay in the arena of the turn if they can be executed from there. All others
// are stored with the connection. Loop-confined.
class RequestInput {
 public:
  // `received` lies at the beginning of the arena's window. It is copied if bytes of earlier turns
  // precede it, or if it `must_wait` longer than this turn.
  void Receive(std::string_view received, TurnArena& arena, bool must_wait) {
    has_unseen_ = true;
    if (stored_.empty() && !must_wait) {
      arrived_ = arena.Keep(received.size());
    } else {
      stored_.Append(received);
    }
  }
  // Stores the bytes that are still in the arena, because the next turn will overwrite them there.
  void StoreArrived() { stored_.Append(std::exchange(arrived_, {})); }

  // The bytes to execute next.
  std::string_view view() const { return stored_.empty() ? arrived_ : stored_.view(); }
  // Call this when all bytes of view() are being parsed.
  void MarkSeen() { has_unseen_ = false; }
  // Removes executed bytes from the front of view().
  void DropFront(std::size_t bytes) {
    if (stored_.empty()) {
      arrived_.remove_prefix(bytes);
    } else {
      stored_.DropFront(bytes);
    }
  }
  void Clear() { stored_.Clear(); }

  // Whether there are bytes that were never parsed.
  bool has_unseen() const { return has_unseen_; }
  bool has_arrived() const { return !arrived_.empty(); }
  std::size_t stored_bytes() const { return stored_.size(); }
  std::size_t bytes() const { return stored_.size() + arrived_.size(); }
  // Memory allocated for the stored bytes.
  std::size_t memory_bytes() const { return stored_.memory_bytes(); }

 private:
  std::string_view arrived_;  // in the arena of the turn; empty between turns
  ByteQueue stored_;          // from earlier turns; precedes arrived_
  bool has_unseen_ = false;
};

}  // namespace fairlock::net
