// Ends a connection from the middle of its server.
#pragma once

#include <string>

namespace fairlock::storage::etcd {

// Resets the connection of this process whose other end is `peer`, in gRPC's form
// ipv4:ADDRESS:PORT.
void DropConnection(const std::string& peer);

}  // namespace fairlock::storage::etcd
