// Many locks that stay held, to measure their memory or what happens when all their leases end.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "bench/load_generator/connection.h"
#include "bench/load_generator/dialect.h"

namespace fairlock::bench {

struct HeldOptions {
  Endpoint endpoint;
  const Dialect* dialect = nullptr;
  pid_t server_pid = 0;
  std::size_t locks = 1'000'000;
  std::uint64_t lease_ms = 600'000;
  bool ends_together = false;  // all leases end `lease_ms` after the first request
  std::size_t key_bytes = 19;
  std::size_t owner_bytes = 32;
};

struct HeldResult {
  double seconds = 0;            // time to acquire all locks
  double resident_per_lock = 0;  // growth of the server's resident memory, in bytes
  std::uint64_t ends_at_ns = 0;  // time by MonotonicNs when the first lease ends
};

// Acquires the locks in batches over one connection, each for its own owner, and leaves them held.
// The server's buffers grow to their final size before the memory is measured.
HeldResult TakeAndLeave(const HeldOptions& options);

}  // namespace fairlock::bench
