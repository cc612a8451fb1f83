// How many files and sockets the process may have open.
#pragma once

#include <cstddef>

namespace fairlock::net {

// Reserved for everything but client connections: logs, listening sockets, the store.
inline constexpr std::size_t kDescriptorsReserved = 64;

// Raises the soft limit to `connections_wanted` and the reserve, or to the hard limit if that is
// lower, and enlarges the kernel's table of descriptors accordingly. Returns how many connections
// are possible then: `connections_wanted` or fewer, at least 1.
std::size_t MakeRoomForConnections(std::size_t connections_wanted);

}  // namespace fairlock::net
