// How much memory is in use, and whether that is too much.
#pragma once

#include <cstdint>

#include "server/command/environment/environment.h"
#include "server/engine/types.h"

namespace fairlock::command {

// Looks before requests are executed, and nobody asks while nothing happens. The allocator is asked
// at most every kLookEveryMs; in between what the loop takes and gives back is counted. Costs
// nothing while there is no bound. Loop-confined.
class MemoryBound {
 public:
  static constexpr engine::DurationMs kLookEveryMs = 10;

  explicit MemoryBound(ResourceMeter& resources) : resources_(resources) {}

  // 0: there is no bound.
  std::uint64_t bytes_max() const { return bytes_max_; }
  bool is_on() const { return bytes_max_ != 0; }
  // It counts when Look is called next.
  void set_bytes_max(std::uint64_t bytes);

  // True: it has become short, or is no longer.
  bool Look(engine::TimeMs now);
  bool is_short() const { return is_short_; }
  // When it was looked at last.
  std::uint64_t used_bytes() const { return used_bytes_; }

 private:
  ResourceMeter& resources_;
  std::uint64_t bytes_max_ = 0;
  std::uint64_t used_bytes_ = 0;
  engine::TimeMs ask_at_ = 0;
  bool is_short_ = false;
};

}  // namespace fairlock::command
