// Bounds on the data that is handed to the journal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlock::persist {

// While more bytes than this have been handed over but not yet written, the loop decides nothing.
inline constexpr std::uint64_t kWaitingBytesMax = std::uint64_t{16} << 20;

// When the state is written again, and in which steps.
struct SnapshotPace {
  // A snapshot begins when the total size of the batches since the last one reaches this, or twice
  // the size of the last snapshot if that is more.
  std::uint64_t batch_bytes = std::uint64_t{64} << 20;
  // The number of locks, or of values, that a turn visits for a snapshot, or for long leases.
  std::size_t locks_of_a_slice = 2'000;
};

// A slice with values ends at this size.
inline constexpr std::size_t kValueBytesOfASlice = std::size_t{256} << 10;

}  // namespace fairlock::persist
