// Many connections at a time that do nothing, or wait in one line.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "bench/load_generator/connection.h"

namespace fairlock::bench {

struct CrowdOptions {
  Endpoint endpoint;
  pid_t server_pid = 0;
  std::size_t connections = 10'000;
  std::string wait_for;      // a key that somebody holds; empty: the connections stay idle
  std::string owner_prefix;  // of those who wait, so that two crowds can stand in one line
};

struct CrowdResult {
  double resident_per_connection = 0;  // bytes in the server, without those of waiting
  double resident_per_waiter = 0;      // bytes in the server beside the connection's
};

// Opens the connections, has each of them answered once, and, if asked, lets each wait in line.
// Calls `when_ready` with the result, then keeps them open for ever: the process must be ended
// from outside.
[[noreturn]] void StandInCrowd(const CrowdOptions& options, void (*when_ready)(const CrowdResult&));

}  // namespace fairlock::bench
