// Bounds on what is handed to the journal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlock::persist {

// Bytes handed over and not yet written; while there are more, the loop decides nothing.
inline constexpr std::uint64_t kWaitingBytesMax = std::uint64_t{16} << 20;
// How many locks a turn visits for a snapshot, or for long leases.
inline constexpr std::size_t kLocksOfASlice = 2'000;

}  // namespace fairlock::persist
