// Up to where a connection's output may leave, while the rest waits for the journal.
#pragma once

#include <cstdint>
#include <vector>

namespace fairlock::net {

// Places are counted in bytes of all output ever written. What stands behind something that waits,
// waits with it. Loop-confined.
class OutputGate {
 public:
  bool is_open() const { return marks_.empty(); }
  // The batch that is waited for first. REQUIRES: not open.
  std::uint64_t awaited_batch() const { return marks_.front().batch; }
  // What stands before it may leave. REQUIRES: not open.
  std::uint64_t open_up_to() const { return open_up_to_; }

  // What was written since the last call, up to `end`, waits for that batch. Batches rise.
  void Close(std::uint64_t end, std::uint64_t batch) {
    if (is_open()) open_up_to_ = seen_up_to_;
    marks_.push_back({end, batch});
    seen_up_to_ = end;
  }
  // What was written up to `end` reveals nothing by itself.
  void Pass(std::uint64_t end) { seen_up_to_ = end; }

  // Batches up to that one may be told of.
  void Release(std::uint64_t completed_batch) {
    auto at = marks_.begin();
    for (; at != marks_.end() && at->batch <= completed_batch; ++at) open_up_to_ = at->end;
    marks_.erase(marks_.begin(), at);
  }

 private:
  struct Mark {
    std::uint64_t end = 0;
    std::uint64_t batch = 0;
  };

  std::vector<Mark> marks_;
  std::uint64_t open_up_to_ = 0;
  std::uint64_t seen_up_to_ = 0;
};

}  // namespace fairlock::net
