// How much memory the process has in use.
#pragma once

#include <cstdint>

namespace fairlock::server {

// What the allocator tells; where it tells nothing, as under a sanitizer, what the process
// occupies. Used by one thread.
class MemoryMeter {
 public:
  // Asks, which takes some microseconds.
  std::uint64_t Measure();
  // As it was measured last, with what this thread has taken and given back since. A few loads.
  std::uint64_t Estimate() const;

  // By all threads together; 0: the allocator does not tell.
  static std::uint64_t AllocatedBytes();
  static std::uint64_t ResidentBytes();

 private:
  // Of this thread, ever. What others gave back of it is not in it, so it counts for a while only.
  std::uint64_t TakenByThread() const;

  // Null: the allocator has no such counts.
  const std::uint64_t* taken_ = nullptr;
  const std::uint64_t* given_back_ = nullptr;
  bool has_counts_ = false;  // it was asked for them
  std::uint64_t measured_ = 0;
  std::uint64_t taken_when_measured_ = 0;
};

}  // namespace fairlock::server
