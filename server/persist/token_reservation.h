// Reserves token blocks in the log.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "contracts/loop_confined.h"
#include "storage/records/token_blocks.h"

namespace fairlock::persist {

// Remembers the batch that contains the next ceiling; the ceiling applies once that batch is
// complete.
class TokenReservation : contracts::LoopConfined {
 public:
  explicit TokenReservation(std::uint64_t first_token) : blocks_(first_token) {}

  std::uint64_t ceiling() const { return blocks_.ceiling(); }
  // The ceiling to store now.
  std::uint64_t stored_ceiling() const { return std::max(next_ceiling_, blocks_.ceiling()); }
  bool IsDue(std::uint64_t next_token) const {
    return batch_ == 0 && blocks_.NeedsBlock(next_token);
  }

  // From now on, stored_ceiling is the ceiling of the next block.
  void Prepare() {
    AssertInLoop();
    assert(batch_ == 0);
    next_ceiling_ = blocks_.next_ceiling();
  }
  // Call this when that ceiling has been added to `batch`.
  void Begin(std::uint64_t batch) {
    AssertInLoop();
    batch_ = batch;
  }
  // Call this when the batches up to `completed` are durable. Returns whether this has reserved the
  // block.
  bool Complete(std::uint64_t completed) {
    AssertInLoop();
    if (batch_ == 0 || completed < batch_) return false;
    blocks_.Reserved(next_ceiling_);
    batch_ = 0;
    return true;
  }

 private:
  storage::TokenBlocks blocks_;
  std::uint64_t batch_ = 0;  // 0: no reservation is in progress
  std::uint64_t next_ceiling_ = 0;
};

}  // namespace fairlock::persist
