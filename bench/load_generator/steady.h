// Well-behaved clients at a fixed rate, beside whom something else happens.
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
  double rate = 2000;  // commands a second, of all together
};

// What happened between two lines of standard input.
struct SteadyPeriod {
  std::string name;  // the line that ended it
  std::size_t commands = 0;
  double seconds = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
};

// The connections take turns; each takes a lock of its own, and releases it with its next command.
// A command that falls due while its connection still awaits a reply is sent behind that reply and
// measured from when it was due, so that a server that stands still is seen by all who came
// meanwhile. Runs with real-time priority where that is allowed.
//
// Every reply is checked: a lock that was lost, a token that did not rise or a connection that
// broke ends the process. Ends in good order with standard input.
void RunSteadily(const SteadyOptions& options,
                 const std::function<void(const SteadyPeriod&)>& report);

}  // namespace fairlock::bench
