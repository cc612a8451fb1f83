// Counts of events, and of the durations of waits and holds, for one label.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/engine/api/event.h"
#include "server/record/duration_histogram.h"
#include "server/record/event_kinds.h"

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

// Maps each kind of event to the counter that counts it.
inline constexpr std::uint8_t kNotCounted = 0xff;

constexpr std::array<std::uint8_t, 32> MakeCounterOfKind() {
  using engine::EventKind;
  std::array<std::uint8_t, 32> counters{};
  counters.fill(kNotCounted);
  const auto count = [&](EventKind kind, Counter counter) {
    counters[static_cast<std::size_t>(kind)] = static_cast<std::uint8_t>(counter);
  };
  count(EventKind::kGranted, Counter::kAcquired);
  count(EventKind::kTransferred, Counter::kAcquired);
  count(EventKind::kReacquired, Counter::kReacquired);
  count(EventKind::kDenied, Counter::kDenied);
  count(EventKind::kQueued, Counter::kQueued);
  count(EventKind::kReleased, Counter::kReleased);
  count(EventKind::kExpired, Counter::kExpired);
  count(EventKind::kDisconnected, Counter::kDisconnected);
  count(EventKind::kBroken, Counter::kBroken);
  count(EventKind::kTimedOut, Counter::kTimedOut);
  return counters;
}

// Maps an event kind to the index of a Counter, or to kNotCounted.
inline constexpr std::array<std::uint8_t, 32> kCounterOfKind = MakeCounterOfKind();

// Events that end a hold.
inline constexpr EventKinds kEnds = {engine::EventKind::kReleased, engine::EventKind::kExpired,
                                     engine::EventKind::kDisconnected, engine::EventKind::kBroken};

// Counts the event in `counts`. `Counts` must have a member `counts`, and members `waits` and
// `holds` that count durations.
template <typename Counts>
void CountEvent(const engine::Event& event, Counts& counts) {
  const std::uint8_t counter = kCounterOfKind[static_cast<std::size_t>(event.kind)];
  if (counter == kNotCounted) return;
  ++counts.counts[counter];
  if (event.has_waited) {
    ++counts.counts[static_cast<std::size_t>(Counter::kGrantedAfterWait)];
    counts.waits.Count(event.waited_ms);
  } else if (kEnds.Has(event.kind)) {
    counts.holds.Count(event.held_ms);
  }
}

// The same for the end of a hold whose duration is not known.
template <typename Counts>
void CountEventWithoutAge(const engine::Event& event, Counts& counts) {
  ++counts.counts[kCounterOfKind[static_cast<std::size_t>(event.kind)]];
}

}  // namespace fairlock::record
