// Everything that the server counts, except the engine's own counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/command/environment/clock.h"
#include "server/command/statistics/command_statistics.h"
#include "server/record/duration_histogram.h"
#include "server/record/recorder.h"

namespace fairlock::command {

// Members marked "transport" are counted by the socket code, all others by the commands.
struct ServerCounters {
  std::uint64_t connections_received = 0;
  std::uint64_t connections_rejected = 0;  // transport
  std::uint64_t commands_processed = 0;
  std::uint64_t protocol_errors = 0;
  std::uint64_t input_bytes = 0;               // transport
  std::uint64_t output_bytes = 0;              // transport
  std::uint64_t turns = 0;                     // transport
  std::uint64_t closed_over_output_limit = 0;  // transport; by either limit
  std::uint64_t closed_over_input_limit = 0;   // transport; by either limit
  std::uint64_t rejected_by_address = 0;       // transport; also in connections_rejected
  std::uint64_t closed_without_log_in = 0;
  std::uint64_t closed_over_request_deadline = 0;  // transport
  std::uint64_t failed_log_ins = 0;
  std::uint64_t denied_requests = 0;                         // denied for lack of permission
  record::BucketCounts<record::kTurnBoundsUs> turns_us;      // transport: durations of turns
  record::BucketCounts<record::kLagBoundsMs> expiry_lag_ms;  // transport: delays of expiries
};

// Current values, which a reset of the counters does not change.
struct ServerGauges {
  std::uint64_t waiting_clients = 0;
  std::uint64_t unread_reply_bytes = 0;      // transport: memory that unread replies take
  std::uint64_t unexecuted_input_bytes = 0;  // transport: memory that unexecuted input takes
  std::uint64_t http_clients = 0;            // transport: clients connected over HTTP
};

// Loop-confined.
struct Statistics {
  // `rows`: the number of rows of the command table.
  Statistics(const Clock& clock, std::size_t rows) : commands(clock, rows) {}

  // Resets the counts to zero.
  void Reset() {
    counters = {};
    commands.Reset();
  }

  CommandStatistics commands;
  ServerCounters counters;
  ServerGauges gauges;
  // Holds of libraries' locks that BREAK has ended, which the engine does not count. Never reset.
  std::uint64_t broken_in_values = 0;
};

}  // namespace fairlock::command
