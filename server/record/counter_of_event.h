// Maps each kind of event to the counter that counts it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "server/engine/api/event.h"
#include "server/record/event_kinds.h"
#include "server/record/label_counts.h"

namespace fairlock::record {

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
