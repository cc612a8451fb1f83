// A histogram of durations.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/engine/api/types.h"

namespace fairlock::record {

// LEB128 varints: seven bits per byte, least significant group first.
template <typename Number>
inline constexpr std::size_t kVarintBytesMax = (8 * sizeof(Number) + 6) / 7;

inline char* WriteVarint(std::uint64_t value, char* to) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

// REQUIRES: `from` points to bytes written by WriteVarint.
inline const char* ReadVarint(const char* from, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*from++);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return from;
  }
}

// The buckets of HdrHistogram (Gil Tene, https://hdrhistogram.org; the layout is described in its
// README under "Histogram variants and internal representation"): exact up to 63 ms, then 32
// buckets per doubling, so a reported value is at most 1/32 (3.2 %) above the real one. Durations
// above 2^36 ms (two years) count as 2^36 ms.
struct DurationBuckets {
  static constexpr std::size_t kCount = 1024;
  static constexpr engine::DurationMs kDurationMax = (engine::DurationMs{1} << 36) - 1;

  static std::size_t IndexOf(engine::DurationMs duration_ms) {
    const auto value = static_cast<std::uint64_t>(duration_ms);
    if (value < 2 * kPerDoubling) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kIndexBits;
    return shift * kPerDoubling + (value >> shift);
  }

  // The longest duration in the bucket.
  static engine::DurationMs LongestIn(std::size_t index) {
    if (index < 2 * kPerDoubling) return static_cast<engine::DurationMs>(index);
    const std::size_t shift = index / kPerDoubling - 1;
    return static_cast<engine::DurationMs>(((index - shift * kPerDoubling + 1) << shift) - 1);
  }

 private:
  static constexpr unsigned kIndexBits = 6;
  static constexpr std::size_t kPerDoubling = 32;
};

// `Number` is the type of a bucket's count. A value type.
template <typename Number>
class DurationHistogram {
 public:
  // REQUIRES: duration_ms >= 0.
  void Count(engine::DurationMs duration_ms) {
    if (duration_ms > DurationBuckets::kDurationMax) duration_ms = DurationBuckets::kDurationMax;
    ++counts_[DurationBuckets::IndexOf(duration_ms)];
    if (duration_ms > longest_ms_) longest_ms_ = duration_ms;
  }
  void Clear() { *this = {}; }

  engine::DurationMs longest_ms() const { return longest_ms_; }
  std::uint64_t CountAll() const {
    std::uint64_t all = 0;
    for (const Number count : counts_) all += count;
    return all;
  }

  // Returns the quantile `part` (0 to 1) of the durations; 0 if there are none.
  engine::DurationMs Quantile(double part) const {
    const auto wanted = static_cast<std::uint64_t>(part * static_cast<double>(CountAll()) + 0.5);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen < wanted || seen == 0) continue;
      const engine::DurationMs longest_ms = DurationBuckets::LongestIn(i);
      return longest_ms < longest_ms_ ? longest_ms : longest_ms_;
    }
    return longest_ms_;
  }

  // Only the nonzero buckets are packed, so a few durations take a few bytes.
  static constexpr std::size_t kPackedBytesMax =
      2 * kVarintBytesMax<std::uint64_t> +
      DurationBuckets::kCount * (kVarintBytesMax<std::uint16_t> + kVarintBytesMax<Number>);
  char* Pack(char* to) const {
    std::uint64_t used = 0;
    for (const Number count : counts_) used += count != 0 ? 1 : 0;
    to = WriteVarint(used, to);
    if (used == 0) return to;
    to = WriteVarint(static_cast<std::uint64_t>(longest_ms_), to);
    std::size_t before = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] == 0) continue;
      to = WriteVarint(counts_[i], WriteVarint(i - before, to));
      before = i;
    }
    return to;
  }
  // Adds packed counts to these. Returns the end of the packed data.
  const char* AddPacked(const char* from) {
    std::uint64_t used = 0;
    from = ReadVarint(from, used);
    if (used == 0) return from;
    std::uint64_t longest_ms = 0;
    from = ReadVarint(from, longest_ms);
    CountLongest(static_cast<engine::DurationMs>(longest_ms));
    std::size_t index = 0;
    for (; used > 0; --used) {
      std::uint64_t step = 0;
      std::uint64_t count = 0;
      from = ReadVarint(ReadVarint(from, step), count);
      index += step;
      counts_[index] += static_cast<Number>(count);
    }
    return from;
  }
  template <typename OtherNumber>
  void Add(const DurationHistogram<OtherNumber>& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts()[i];
    CountLongest(other.longest_ms());
  }

  const std::array<Number, DurationBuckets::kCount>& counts() const { return counts_; }

 private:
  void CountLongest(engine::DurationMs duration_ms) {
    if (duration_ms > longest_ms_) longest_ms_ = duration_ms;
  }

  std::array<Number, DurationBuckets::kCount> counts_{};
  engine::DurationMs longest_ms_ = 0;
};

// The percentiles of waits and holds that are reported.
struct Quantile {
  std::string_view name;  // suffix of the field name
  double part;
};

inline constexpr auto kQuantiles = std::to_array<Quantile>(
    {{"_p50_ms", 0.5}, {"_p90_ms", 0.9}, {"_p99_ms", 0.99}, {"_p999_ms", 0.999}});

// Counts durations in buckets since the server started.
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
