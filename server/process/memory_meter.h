// Measures the memory that the process uses.
#pragma once

#include <cstdint>

namespace fairlock::server {

// Measures the number of bytes that the allocator reports. If it reports none, for example under a
// sanitizer, measures the resident size of the process. For use by one thread only.
class MemoryMeter {
 public:
  // Asks the allocator, which takes a few microseconds.
  std::uint64_t Measure();
  // The last measurement, adjusted for what this thread has allocated and freed since. Costs a few
  // loads.
  std::uint64_t Estimate() const;

  // The total for all threads; 0 if the allocator does not report it.
  static std::uint64_t AllocatedBytes();
  static std::uint64_t ResidentBytes();

 private:
  // Bytes allocated minus bytes freed by this thread. Ignores what other threads free, so it drifts
  // over time.
  std::uint64_t TakenByThread() const;

  // Null if the allocator does not provide these counts.
  const std::uint64_t* taken_ = nullptr;
  const std::uint64_t* given_back_ = nullptr;
  bool has_counts_ = false;  // whether the allocator was asked for the counts
  std::uint64_t measured_ = 0;
  std::uint64_t taken_when_measured_ = 0;
};

}  // namespace fairlock::server
