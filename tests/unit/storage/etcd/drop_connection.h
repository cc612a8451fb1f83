// Ends a connection from inside the process that serves it.
#pragma once

#include <string>

namespace fairlock::storage::etcd {

// Resets this process's connection whose other end is `peer`, in gRPC's notation ipv4:ADDRESS:PORT.
void DropConnection(const std::string& peer);

}  // namespace fairlock::storage::etcd
