// Bounds on the data that is handed to the journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "server/engine/api/types.h"

namespace fairlock::persist {

// While more bytes than this have been handed over but not yet written, the loop decides nothing.
inline constexpr std::uint64_t kWaitingBytesMax = std::uint64_t{16} << 20;

// When the state is written again, and in which steps.
struct SnapshotPace {
  // A snapshot begins when the total size of the batches since the last one reaches this, or twice
  // the size of the last snapshot if that is more.
  std::uint64_t batch_bytes = std::uint64_t{64} << 20;
  // Each batch counts as this many bytes more, because each takes time to read, however small it
  // is.
  std::uint64_t bytes_of_a_batch = 0;
  // Whether another process follows the log and has read it; null: yes. If not, the bound is
  // higher, because a snapshot makes those who are reading the log begin again.
  std::function<bool()> is_followed = {};
  std::uint64_t factor_while_not_followed = 4;
  // The number of locks, or of values, that a turn visits for a snapshot, or for long leases.
  std::size_t locks_of_a_slice = 2'000;
};

// A slice with values ends at this size.
inline constexpr std::size_t kValueBytesOfASlice = std::size_t{256} << 10;

// The leases whose remaining time is stored while they run.
//
// After a crash, a lease starts over. To prevent weekly crashes from keeping a lease alive forever,
// leases of at least ten minutes are stored again whenever another tenth of them has passed.
inline constexpr engine::DurationMs kLongLeaseMs = 600'000;
inline constexpr engine::DurationMs kLongLeaseSweepMs = kLongLeaseMs / 10;

constexpr bool IsLongLease(engine::DurationMs lease_ms) { return lease_ms >= kLongLeaseMs; }

}  // namespace fairlock::persist
