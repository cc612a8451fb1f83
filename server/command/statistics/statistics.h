// Everything that the server counts, except the engine's own counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/wire_error.h"
#include "server/command/environment/clock.h"
#include "server/command/table/command_table.h"
#include "server/record/duration_histogram.h"
#include "server/record/recorder.h"

namespace fairlock::command {

// The counts of one command. As in Redis, a command that EXEC or a script calls is counted in
// addition to the EXEC or EVAL itself.
struct CommandCounts {
  std::uint64_t calls = 0;     // executed
  std::uint64_t rejected = 0;  // answered with an error before execution
  std::uint64_t failed = 0;    // executed, and answered with an error
  std::uint64_t ticks = 0;     // execution time, in ticks of Clock::Ticks
};

// Counts the calls, failures and durations of each command, and errors by their first word.
//
// The time of the loop is attributed to the command that it executes. Reading the clock twice per
// command would slow the shortest commands down by a few percent, so it is read only when the loop
// turns to a different command: a pipeline that repeats one command counts as one long execution.
// All time is attributed, and none is estimated. Loop-confined.
class CommandStatistics {
 public:
  // Scripts can invent error words, so beyond this many, errors are counted as kOtherErrors.
  static constexpr std::size_t kErrorWordsMax = 128;
  static constexpr std::string_view kOtherErrors = "OTHER";

  // Keeps counts for the `rows` commands of a command table.
  CommandStatistics(const Clock& clock, std::size_t rows);

  const std::vector<CommandCounts>& commands() const { return commands_; }
  // Returns the execution time in microseconds.
  std::uint64_t UsecOf(const CommandCounts& counts) const;
  // The number of errors for each first word.
  const std::map<std::string, std::uint64_t, std::less<>>& errors() const { return errors_; }
  std::uint64_t ErrorsOf(std::string_view word) const;
  std::uint64_t all_errors() const { return all_errors_; }

  void CountCall(std::size_t row) { ++commands_[row].calls; }
  // Called when the loop begins to execute the command of that row; kNone: no command.
  void TurnTo(std::size_t row) {
    if (row != timed_row_) TurnToAnother(row);
  }
  // Adds the time that a step spent on one of its commands. The same time is also charged to the
  // command that the loop executes, such as EXEC.
  void AddTicks(std::size_t row, std::uint64_t ticks) { commands_[row].ticks += ticks; }

  // Called when a request failed, before (CountRejected) or during execution. `row` is kNone if the
  // command is unknown.
  void CountRejected(std::size_t row, protocol::ErrorCode code);
  void CountFailed(std::size_t row, protocol::ErrorCode code);
  // Like CountFailed above, but for an error that CountError has already counted.
  void CountFailed(std::size_t row) { ++commands_[row].failed; }
  // Counts an error that does not answer a request, or that a script has created. `text` must begin
  // with the error's word.
  void CountError(protocol::ErrorCode code);
  void CountError(std::string_view text);

  void Reset();

 private:
  void TurnToAnother(std::size_t row);
  void CountWord(std::string word);

  const Clock& clock_;
  std::vector<CommandCounts> commands_;
  std::map<std::string, std::uint64_t, std::less<>> errors_;
  std::uint64_t all_errors_ = 0;
  std::size_t timed_row_ = CommandTable::kNone;
  std::uint64_t timed_since_ = 0;  // in ticks
};

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
