// Ends a connection from inside the process of its server.
#pragma once

#include <string>

namespace fairlock::storage::etcd {

// Resets this process's connection whose other end is `peer`, in gRPC's notation ipv4:ADDRESS:PORT.
void DropConnection(const std::string& peer);

}  // namespace fairlock::storage::etcd
