// Measures the memory in use and compares it with a bound.
#pragma once

#include <cstdint>

#include "server/command/environment/environment.h"
#include "server/engine/api/types.h"

namespace fairlock::command {

// Memory is measured before requests are executed, so an idle server never measures it. The
// allocator is asked at most once every kLookEveryMs; in between, allocations and frees of the loop
// thread are counted. Without a bound this costs nothing. Loop-confined.
class MemoryBound {
 public:
  static constexpr engine::DurationMs kLookEveryMs = 10;

  explicit MemoryBound(ResourceMeter& resources) : resources_(resources) {}

  // 0: no bound.
  std::uint64_t bytes_max() const { return bytes_max_; }
  bool is_on() const { return bytes_max_ != 0; }
  // Takes effect at the next Look.
  void set_bytes_max(std::uint64_t bytes);

  // Returns true if memory has just become short, or is no longer short.
  bool Look(engine::TimeMs now);
  bool is_short() const { return is_short_; }
  // As measured by the last Look.
  std::uint64_t used_bytes() const { return used_bytes_; }

 private:
  ResourceMeter& resources_;
  std::uint64_t bytes_max_ = 0;
  std::uint64_t used_bytes_ = 0;
  engine::TimeMs ask_at_ = 0;
  bool is_short_ = false;
};

}  // namespace fairlock::command
