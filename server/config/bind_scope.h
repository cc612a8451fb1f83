// Whether an address can be reached from other machines.
#pragma once

#include <string_view>

namespace fairlock::server {

// Whether an entry of `bind` is a loopback address.
bool IsLoopback(std::string_view address);

// Whether a socket can be reached only from this machine, given its name: "127.0.0.1:3247",
// "[::1]:3247", "unix:/run/fairlock.sock".
bool IsLocalSocket(std::string_view name);

}  // namespace fairlock::server
