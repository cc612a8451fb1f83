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
  // How often the observer looks at the place of a request; 0: never.
  std::uint64_t observe_every_us = 5000;
};

struct ContendedResult {
  std::uint64_t hand_overs = 0;
  double per_second = 0;
  double latency_p50_us = 0;  // from sending the release to receiving the next one's grant
  double latency_p99_us = 0;
  double server_cpu_us = 0;  // per hand-over
  std::uint64_t observations = 0;
  std::uint64_t order_inversions = 0;
};

// Every client asks for the lock, waits, gives it back as soon as it has it, waits for the reply,
// and asks again.
//
// Two holders at a time, or a token that does not rise, end the process. Whether the order of
// asking was kept is judged only where it is certain what that order was, for requests on different
// sockets may overtake each other on the way: an observer on a connection of its own asks for the
// POSITION now of the newest request, now of one of the others. With the reply that request is
// known to be in line, so whoever asks from then on asks later. An order inversion is a grant with
// a lower token than that of a request which was seen in line before the granted one was sent.
// (Dialects without tokens have no observer.)
ContendedResult MeasureContended(const ContendedOptions& options);

}  // namespace fairlock::bench
