// Counts the calls, failures and durations of each command, and errors by their first word.
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

namespace fairlock::command {

// The counts of one command. As in Redis, a command that EXEC or a script calls is counted in
// addition to the EXEC or EVAL itself.
struct CommandCounts {
  std::uint64_t calls = 0;     // executed
  std::uint64_t rejected = 0;  // answered with an error before execution
  std::uint64_t failed = 0;    // executed, and answered with an error
  std::uint64_t ticks = 0;     // execution time, in ticks of Clock::Ticks
};

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

}  // namespace fairlock::command
