#include "bench/load_generator/latencies.h"

#include <algorithm>
#include <cmath>

namespace fairlock::bench {

void Latencies::Add(std::uint64_t ns) {
  samples_.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(ns, ~std::uint32_t{0})));
}

double Latencies::PercentileUs(double share) {
  if (samples_.empty()) return 0;
  const auto rank = std::ceil(share * static_cast<double>(samples_.size()));
  const std::size_t index = rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1;
  const auto at =
      samples_.begin() + static_cast<std::ptrdiff_t>(std::min(index, samples_.size() - 1));
  std::nth_element(samples_.begin(), at, samples_.end());
  return *at / 1000.0;
}

}  // namespace fairlock::bench
