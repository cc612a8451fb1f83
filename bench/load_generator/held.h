// Many locks that stay held: what they cost in memory, or what happens when all their leases end.
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
  bool ends_together = false;  // all leases end `lease_ms` after the first lock was asked for
  std::size_t key_bytes = 19;
  std::size_t owner_bytes = 32;
};

struct HeldResult {
  double seconds = 0;            // to take them all
  double resident_per_lock = 0;  // growth of the server's resident memory, in bytes
  std::uint64_t ends_at_ns = 0;  // MonotonicNs when the first leases end
};

// Takes the locks, in batches over one connection, each with an owner of its own, and leaves them.
// The server's buffers are brought to their size before its memory is looked at.
HeldResult TakeAndLeave(const HeldOptions& options);

}  // namespace fairlock::bench
