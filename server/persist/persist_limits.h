// Bounds on the data that is handed to the journal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlock::persist {

// While more bytes than this have been handed over but not yet written, the loop decides nothing.
inline constexpr std::uint64_t kWaitingBytesMax = std::uint64_t{16} << 20;
// The number of locks that a turn visits for a snapshot, or for long leases.
inline constexpr std::size_t kLocksOfASlice = 2'000;
// A slice with values ends at this size.
inline constexpr std::size_t kValueBytesOfASlice = std::size_t{256} << 10;

}  // namespace fairlock::persist
