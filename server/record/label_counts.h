// Counts of events, and of the durations of waits and holds, for one label.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "server/record/duration_histogram.h"
#include "server/record/varint.h"

namespace fairlock::record {

enum class Counter : std::uint8_t {
  kAcquired,
  kDenied,
  kQueued,
  kGrantedAfterWait,
  kReacquired,
  kReleased,
  kExpired,
  kTimedOut,
  kBroken,
  kDisconnected,
};

// The names of the counters, in the order of Counter.
inline constexpr auto kCounterNames = std::to_array<std::string_view>({
    "acquired",
    "denied",
    "queued",
    "granted_after_wait",
    "reacquired",
    "released",
    "expired",
    "timed_out",
    "broken",
    "disconnected",
});

// A value type.
template <typename Number>
struct LabelCounts {
  std::array<Number, kCounterNames.size()> counts{};
  DurationHistogram<Number> waits;  // for grants after a wait
  DurationHistogram<Number> holds;  // for holds that have ended

  Number& operator[](Counter counter) { return counts[static_cast<std::size_t>(counter)]; }
  Number operator[](Counter counter) const { return counts[static_cast<std::size_t>(counter)]; }

  bool IsAnyCounted() const {
    for (const Number count : counts) {
      if (count != 0) return true;
    }
    return false;
  }

  static constexpr std::size_t kPackedBytesMax = kCounterNames.size() * kVarintBytesMax<Number> +
                                                 2 * DurationHistogram<Number>::kPackedBytesMax;
  char* Pack(char* to) const {
    for (const Number count : counts) to = WriteVarint(count, to);
    return holds.Pack(waits.Pack(to));
  }
  const char* AddPacked(const char* from) {
    for (Number& count : counts) {
      std::uint64_t more = 0;
      from = ReadVarint(from, more);
      count += static_cast<Number>(more);
    }
    return holds.AddPacked(waits.AddPacked(from));
  }
  template <typename OtherNumber>
  void Add(const LabelCounts<OtherNumber>& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    waits.Add(other.waits);
    holds.Add(other.holds);
  }
};

}  // namespace fairlock::record
