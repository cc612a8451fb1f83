// Holds back the output of a connection that waits for the journal.
#pragma once

#include <cstdint>
#include <vector>

namespace fairlock::net {

// A position is the number of bytes of output written before it. Output also waits for as long as
// the output before it waits. Loop-confined.
class OutputGate {
 public:
  bool is_open() const { return marks_.empty(); }
  // The batch that the first held output waits for. REQUIRES: not open.
  std::uint64_t awaited_batch() const { return marks_.front().batch; }
  // Output before this position may be sent. REQUIRES: not open.
  std::uint64_t open_up_to() const { return open_up_to_; }

  // The output written since the last call, up to `end`, waits for `batch`. Batches never decrease.
  void Close(std::uint64_t end, std::uint64_t batch) {
    if (is_open()) open_up_to_ = seen_up_to_;
    marks_.push_back({end, batch});
    seen_up_to_ = end;
  }
  // The output written since the last call, up to `end`, waits only for the output before it.
  void Pass(std::uint64_t end) { seen_up_to_ = end; }

  // Lets through the output that waits for no batch later than `completed_batch`.
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
