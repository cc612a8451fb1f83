// Many simultaneous connections that are idle or wait in one queue.
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
  std::string wait_for;  // a held key to wait for; if empty, the connections stay idle
  // The first part of the waiters' names, so that two crowds can share a queue.
  std::string owner_prefix;
};

struct CrowdResult {
  double resident_per_connection = 0;  // bytes in the server, excluding the memory of waiters
  double resident_per_waiter = 0;      // bytes in the server, excluding the connection
};

// Opens the connections, waits for one reply on each, and, if requested, makes each wait in the
// queue. Then calls `when_ready` with the result and keeps the connections open until the process
// is killed.
[[noreturn]] void StandInCrowd(const CrowdOptions& options, void (*when_ready)(const CrowdResult&));

}  // namespace fairlock::bench
