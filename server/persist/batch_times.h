// Measures how long batches take from being handed over to being complete.
#pragma once

#include <cstdint>

#include "server/engine/containers/time.h"

namespace fairlock::persist {

// Times one batch at a time. Loop-confined.
class BatchTimes {
 public:
  // Times this batch, unless another one is being timed.
  void Begin(std::uint64_t batch, engine::TimeMs now) {
    if (batch_ != 0) return;
    batch_ = batch;
    since_ = now;
  }
  // Call this when the batches up to `completed` are complete.
  void Complete(std::uint64_t completed, engine::TimeMs now) {
    if (batch_ == 0 || completed < batch_) return;
    ++count_;
    sum_ms_ += now - since_;
    batch_ = 0;
  }
  // Call this for a batch that is complete as soon as it is handed over.
  void CountAtOnce() { ++count_; }

  std::uint64_t count() const { return count_; }
  engine::DurationMs sum_ms() const { return sum_ms_; }
  // When the batch that is being timed was handed over; 0: no batch is being timed.
  engine::TimeMs since() const { return batch_ == 0 ? 0 : since_; }

 private:
  std::uint64_t batch_ = 0;  // the batch being timed; 0: none
  engine::TimeMs since_ = 0;
  std::uint64_t count_ = 0;
  engine::DurationMs sum_ms_ = 0;
};

}  // namespace fairlock::persist
