// Measured durations and their percentiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairlock::bench {

// Stores every sample for exact percentiles: 4 bytes each, up to 4.2 s.
class Latencies {
 public:
  void Add(std::uint64_t ns);
  std::size_t size() const { return samples_.size(); }

  // The smallest sample that at least that share of the samples does not exceed, in microseconds; 0
  // if there are no samples.
  double PercentileUs(double share);

 private:
  std::vector<std::uint32_t> samples_;
};

}  // namespace fairlock::bench
