// Many clients that take turns on one key.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "bench/load_generator/connection.h"
#include "bench/load_generator/dialect.h"

namespace fairlock::bench {

struct ContendedOptions {
  Endpoint endpoint;
  const Dialect* dialect = nullptr;
  pid_t server_pid = 0;
  std::size_t clients = 10;
  double seconds = 2;
  double warm_up_seconds = 0.2;
  std::size_t owner_bytes = 32;
  // interval at which the observer queries the position of a request; 0 means never
  std::uint64_t observe_every_us = 5000;
};

struct ContendedResult {
  std::uint64_t hand_overs = 0;
  double per_second = 0;
  double latency_p50_us = 0;  // the time from sending the release to receiving the next grant
  double latency_p99_us = 0;
  double server_cpu_us = 0;  // per hand-over
  std::uint64_t observations = 0;
  std::uint64_t order_inversions = 0;
};

// Each client requests the lock, waits, releases it as soon as it is granted, waits for the reply,
// and starts again.
//
// Two simultaneous holders, or a token that does not increase, end the process. Requests on
// different sockets can overtake each other on their way, so the order of grants is checked only
// where the order of requests is certain. For this, an observer with its own connection queries the
// POSITION of the newest request and of others. Its reply proves that the request is in the queue,
// so every request sent after that reply is later. An order inversion is a grant whose token is
// lower than that of a request that was seen in the queue before the granted request was sent.
// Dialects without tokens have no observer.
ContendedResult MeasureContended(const ContendedOptions& options);

}  // namespace fairlock::bench
