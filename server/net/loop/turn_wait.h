// The wait at the beginning of a turn: for readiness, a deadline, the journal or another thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>

#include "contracts/loop_confined.h"
#include "server/net/sockets/descriptor.h"
#include "server/net/turn/turn.h"

namespace fairlock::net {

// Loop-confined, except Wake.
class TurnWait : contracts::LoopConfined {
 public:
  // A `wait_ms_max` that means no limit.
  static constexpr engine::DurationMs kUntilReady = engine::kForever;
  // The largest other `wait_ms_max`. Waits are short because the kernel's timer does not run while
  // the machine sleeps, but the clock of leases does.
  static constexpr engine::DurationMs kTimedMsMax = 1000;

  // `turn` must outlive it.
  explicit TurnWait(Turn& turn);
  TurnWait(const TurnWait&) = delete;
  TurnWait& operator=(const TurnWait&) = delete;

  // Waits at most `wait_ms_max`, and runs the handlers that are ready. False: none were ready.
  bool Await(engine::DurationMs wait_ms_max);
  // Waits briefly for a signal of the journal. Handlers run, but no connection is reported.
  void AwaitJournal();
  // Ends the wait. Thread-safe.
  void Wake() { wake_.Signal(); }

  // The time of MonotonicNs at which the last wait ended.
  std::uint64_t ended_ns() const { return ended_ns_; }

  boost::asio::io_context& io_context() { return io_context_; }
  // Ends the wait for connections. REQUIRES: Await is not called again.
  void Close();
  // Whether it is closed, and no wait is pending.
  bool is_disposable() const { return !is_awaiting_connections_; }

 private:
  void AwaitConnections();
  bool IsWorthPolling();
  std::size_t PollForCompletion();

  Turn& turn_;
  boost::asio::io_context io_context_;
  EventDescriptor wake_;
  Descriptor ready_connections_;  // readable when a connection is ready
  bool is_awaiting_connections_ = false;
  std::uint64_t ended_ns_ = 0;
  // The newest complete batch when polling last began.
  std::uint64_t polled_after_batch_ = ~std::uint64_t{0};
  std::uint64_t poll_until_ns_ = 0;
};

// Refuses requests that do not arrive completely in time.
class RequestDeadlines : contracts::LoopConfined {
 public:
  // `turn` must outlive it.
  explicit RequestDeadlines(Turn& turn) : turn_(turn) {}

  // The earliest deadline of an incomplete request.
  engine::TimeMs next() const;
  // Refuses some of the requests whose deadline has passed. Called after the execution, because the
  // rest of a request may have arrived in this turn.
  void RefuseOverdue();

 private:
  Turn& turn_;
  engine::TimeMs checked_at_ = 0;
  // Gives the server time to read what arrived while it paused.
  engine::TimeMs no_refusal_before_ = 0;
};

}  // namespace fairlock::net
