// Uncontended locks: every client acquires and releases its own keys.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/load_generator/connection.h"
#include "bench/load_generator/dialect.h"

namespace fairlock::bench {

struct PairsOptions {
  Endpoint endpoint;
  const Dialect* dialect = nullptr;
  pid_t server_pid = 0;
  std::size_t connections = 50;
  std::size_t pipeline = 1;  // requests that a connection sends at once; 1 or an even number
  std::uint64_t commands = 200'000;
  std::uint64_t warm_up_commands = 20'000;
  std::size_t keys = 100'000;  // divided among the connections, so no request is ever denied
  std::string key_prefix;      // for example a hash tag, which chooses the partition of a fleet
  std::size_t key_bytes = 19;  // without the prefix
  std::size_t owner_bytes = 32;
  // Locks that each connection always holds: a key is released this many pairs after it was
  // acquired, so that its changes do not cancel out before the server writes them.
  std::size_t ahead = 0;
};

struct PairsResult {
  std::uint64_t commands = 0;
  double seconds = 0;
  double server_cpu_us = 0;  // per command, user and system time
  double client_cpu_us = 0;  // per command
};

// Each connection sends `pipeline` requests (lock, unlock, lock, unlock ...), waits for all
// replies, checks each of them, and continues with other keys.
PairsResult MeasurePairs(const PairsOptions& options);

}  // namespace fairlock::bench
