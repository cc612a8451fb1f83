// Measures how long the server delays an uninvolved client.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/load_generator/connection.h"

namespace fairlock::bench {

struct ProbeOptions {
  Endpoint endpoint;
  std::uint64_t interval_us = 1000;
  double seconds = 5;
  std::uint64_t begin_at_ns = 0;  // when to begin, by MonotonicNs; 0 means now
  // Stop half a second after DBSIZE, queried on a second connection, has become 0.
  bool until_empty = false;
};

struct ProbeResult {
  std::size_t pings = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
  std::uint64_t empty_at_ns = 0;  // with until_empty, when DBSIZE 0 was received; 0 if it never was
};

// Sends PING at a fixed rate whether or not earlier ones are answered. So 50 pings, not just one,
// observe a server that stalls for 50 ms. Each is measured from when it was really sent. Runs with
// real-time priority where permitted, so that the result shows the server's delays and not the
// scheduler's.
ProbeResult Probe(const ProbeOptions& options);

}  // namespace fairlock::bench
