// How long the server lets a bystander wait.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/load_generator/connection.h"

namespace fairlock::bench {

struct ProbeOptions {
  Endpoint endpoint;
  std::uint64_t interval_us = 1000;
  double seconds = 5;
  std::uint64_t begin_at_ns = 0;  // MonotonicNs; 0: at once
  // Stop half a second after DBSIZE, asked for on a second connection, has become 0.
  bool until_empty = false;
};

struct ProbeResult {
  std::size_t pings = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
  std::uint64_t empty_at_ns = 0;  // until_empty: when that was learnt; 0: it did not happen
};

// Sends PING at a fixed rate, whether or not earlier ones are answered, so that a server that
// stands still for 50 ms is seen by 50 of them and not by one; each is measured from when it was
// really sent. Runs with real-time priority where that is allowed, for it is the server that is to
// be measured and not the scheduler's choice of whom to run.
ProbeResult Probe(const ProbeOptions& options);

}  // namespace fairlock::bench
