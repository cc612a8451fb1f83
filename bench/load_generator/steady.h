// Well-behaved clients that send at a fixed rate while something else happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "bench/load_generator/connection.h"

namespace fairlock::bench {

struct SteadyOptions {
  Endpoint endpoint;
  std::size_t connections = 100;
  double rate = 2000;  // commands per second, across all connections
};

// The results for the time between two lines of standard input.
struct SteadyPeriod {
  std::string name;  // the line that ended the period
  std::size_t commands = 0;
  double seconds = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
};

// The connections take turns. Each acquires its own lock and releases it with its next command. A
// command that is due while its connection still waits for a reply is sent after that reply, and
// its latency is measured from when it was due. So every command that is due while the server
// stalls shows the delay. Runs with real-time priority where permitted.
//
// Every reply is checked: a lost lock, a token that does not increase or a broken connection ends
// the process. Ends normally when standard input ends.
void RunSteadily(const SteadyOptions& options,
                 const std::function<void(const SteadyPeriod&)>& report);

}  // namespace fairlock::bench
