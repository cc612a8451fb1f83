// Checks whether the storage that contains the log is nearly full.
#pragma once

#include <cstdint>

#include "contracts/loop_confined.h"
#include "server/engine/containers/time.h"
#include "storage/log/log_home.h"

namespace fairlock::persist {

// Checks once a second, and whenever a few megabytes have been written.
class SpaceCheck : contracts::LoopConfined {
 public:
  // While less than `free_bytes_min` is free, no new locks are accepted.
  explicit SpaceCheck(std::uint64_t free_bytes_min) : free_bytes_min_(free_bytes_min) {}

  void set_free_bytes_min(std::uint64_t bytes) { free_bytes_min_ = bytes; }
  void CountWritten(std::uint64_t bytes) { written_bytes_ += bytes; }
  // `waiting_bytes` have been handed over but not yet written.
  void Look(const storage::LogHome& home, std::uint64_t waiting_bytes, engine::TimeMs now);

  bool is_short() const { return is_short_; }
  std::uint64_t free_bytes() const { return free_bytes_; }
  // When to check again while space is short; kNever if it is not.
  engine::TimeMs NextDeadline() const { return is_short_ ? next_at_ : engine::kNever; }

 private:
  std::uint64_t free_bytes_min_;
  std::uint64_t free_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;  // since the last check
  engine::TimeMs next_at_ = 0;
  bool is_short_ = false;
};

}  // namespace fairlock::persist
