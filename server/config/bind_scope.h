// Who can reach an address.
#pragma once

#include <string_view>

namespace fairlock::server {

// As `bind` has it: this machine only.
bool IsLoopback(std::string_view address);

// The same of a socket's name, as "127.0.0.1:3247", "[::1]:3247" or "unix:/run/fairlock.sock".
bool IsLocalSocket(std::string_view name);

}  // namespace fairlock::server
