// Counts durations in buckets since the server started.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace fairlock::record {

inline constexpr auto kWaitAndHoldBoundsMs =
    std::to_array<std::uint64_t>({10, 100, 1'000, 10'000, 60'000, 600'000});
inline constexpr auto kTurnBoundsUs =
    std::to_array<std::uint64_t>({100, 1'000, 10'000, 100'000, 1'000'000});
inline constexpr auto kLagBoundsMs = std::to_array<std::uint64_t>({1, 10, 100, 1'000, 10'000});

// Like a Prometheus histogram, but not cumulative: a bucket does not include the ones below it. The
// last bucket counts everything above the highest bound. A value type.
template <const auto& kUpperBounds>
class BucketCounts {
 public:
  static constexpr const auto& kBounds = kUpperBounds;

  template <std::integral Number>
  void Count(Number duration) {
    const auto value = static_cast<std::uint64_t>(duration);
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && value > kBounds[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += value;
  }

  const std::array<std::uint64_t, kUpperBounds.size() + 1>& counts() const { return counts_; }
  std::uint64_t sum() const { return sum_; }

 private:
  std::array<std::uint64_t, kUpperBounds.size() + 1> counts_{};
  std::uint64_t sum_ = 0;
};

}  // namespace fairlock::record
