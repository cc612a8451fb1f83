// Bounds how long scripts run in one turn.
#pragma once

#include <cstdint>
#include <utility>

#include "server/command/client/client.h"
#include "server/command/environment/clock.h"
#include "server/command/table/command_table.h"
#include "server/command/transactions/transactions.h"

namespace fairlock::command {

// A script may run for script_time, during which no other client is served. So a turn runs scripts
// for kTurnNs, or one that takes longer, and only after all other requests of the turn are executed
// and answered. Time includes compiling, and all that EXEC does if it runs a script. Turns also
// collect the garbage that scripts have left, for kTurnNs each; until it is collected, the next
// script waits.
//
// A turn is bounded by the clock, because others wait for it. A client is charged with processor
// time, so that it does not pay for what else the machine does.
//
// Until BeginTurn is called, scripts run without a bound. Loop-confined.
class ScriptTurns {
 public:
  static constexpr std::uint64_t kTurnNs = 1'000'000;

  ScriptTurns(const Clock& clock, const CommandTable& table) : clock_(clock), table_(table) {}

  // Scripts must wait from now on, until Open.
  void BeginTurn() { is_open_ = false; }
  void Open() {
    is_open_ = true;
    run_ns_max_ = run_ns_ + kTurnNs;
    processor_ns_ = clock_.ProcessorNs();
  }
  bool MustWait() const { return !is_open_ || run_ns_ >= run_ns_max_; }
  // The time of all scripts since the start.
  std::uint64_t run_ns() const { return run_ns_; }
  // The processor time since it was last called, or since Open. It takes a system call.
  std::uint64_t TakeProcessorNs() {
    const std::uint64_t now_ns = clock_.ProcessorNs();
    return now_ns - std::exchange(processor_ns_, now_ns);
  }

  // Whether the request may run a script; `row` is that of its first word.
  bool RunsScripts(const Client& client, std::size_t row) const {
    if (row == CommandTable::kNone || (table_.rows()[row]->flags & kRunsScripts) == 0) return false;
    return !Transactions::IsCollecting(client) || (client.transaction->flags() & kRunsScripts) != 0;
  }
  // Calls the function, which executes such a request.
  template <typename Function>
  void Measure(Function execute) {
    const std::uint64_t begun_ns = clock_.MonotonicNs();
    execute();
    run_ns_ += clock_.MonotonicNs() - begun_ns;
  }

 private:
  const Clock& clock_;
  const CommandTable& table_;
  bool is_open_ = true;
  std::uint64_t run_ns_ = 0;
  std::uint64_t processor_ns_ = 0;
  std::uint64_t run_ns_max_ = ~std::uint64_t{0};
};

}  // namespace fairlock::command
