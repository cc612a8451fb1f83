// Socket addresses as text.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>

namespace fairlock::net {

// "127.0.0.1:3247" or "[::1]:3247"; for a unix socket `unix_path` and ":0", as Redis shows it.
std::string FormatAddress(const sockaddr_storage& address, std::string_view unix_path);

// The same for the local end of a connected socket; empty: the kernel does not know it.
std::string FormatLocalAddress(int descriptor, std::string_view unix_path);

}  // namespace fairlock::net
