// The client through which a hold or place was requested.
#pragma once

#include <cstdint>
#include <string>

namespace fairlock::engine {

// A small reference into the table of clients; fits 20 bits. Zero means an unknown client.
using ClientRef = std::uint32_t;
inline constexpr ClientRef kUnknownClient = 0;
inline constexpr ClientRef kClientRefMax = (1U << 20) - 1;

struct ClientIdentity {
  std::string address;
  std::string name;
  std::string user;
  bool is_connected = false;
};

}  // namespace fairlock::engine
