// The limit on the number of files and sockets that the process may have open.
#pragma once

#include <cstddef>

namespace fairlock::net {

// The number reserved for everything except client connections: logs, listening sockets, the
// store.
inline constexpr std::size_t kDescriptorsReserved = 64;

// Raises the soft limit to `connections_wanted` plus the reserve, or to the hard limit if that is
// lower, and enlarges the kernel's table of descriptors accordingly. Returns how many connections
// are then possible: at most `connections_wanted`, at least 1.
std::size_t MakeRoomForConnections(std::size_t connections_wanted);

}  // namespace fairlock::net
