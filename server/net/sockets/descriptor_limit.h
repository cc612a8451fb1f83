// How many files and sockets the process may have open.
#pragma once

#include <cstddef>

namespace fairlock::net {

// Kept for everything that is not a client's connection: logs, listening sockets, the store.
inline constexpr std::size_t kDescriptorsReserved = 64;

// Raises the soft limit as far as `connections_wanted` and the reserve need and the hard limit lets
// it, and lengthens the system's table of descriptors to that; returns how many connections then
// fit: `connections_wanted` or fewer, at least 1.
std::size_t MakeRoomForConnections(std::size_t connections_wanted);

}  // namespace fairlock::net
