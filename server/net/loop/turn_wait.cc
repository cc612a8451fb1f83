#include "server/net/loop/turn_wait.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

#include "server/net/clock.h"
#include "server/net/resp/resp_connection.h"

namespace fairlock::net {

namespace {

constexpr int kJournalMsMax = 10;

// A turn busy-polls for a sync only when at least this many connections wait for it, and never
// longer than kPollNsMax.
constexpr std::size_t kHeldToPoll = 8;
constexpr std::uint64_t kPollNsMax = 300'000;

}  // namespace

// Only this thread uses the descriptors, so Asio need not lock them.
TurnWait::TurnWait(Turn& turn)
    : turn_(turn),
      io_context_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO),
      ready_connections_(io_context_, turn.readiness.descriptor()) {
  turn.readiness.AddWake(wake_.descriptor());
}

bool TurnWait::Await(engine::DurationMs wait_ms_max) {
  AssertInLoop();
  AwaitConnections();
  std::size_t handled = wait_ms_max > 0 && IsWorthPolling() ? PollForCompletion() : 0;
  if (handled == 0 && wait_ms_max == kUntilReady) {
    handled = io_context_.run_one();
  } else if (handled == 0 && wait_ms_max > 0) {
    handled = io_context_.run_one_for(std::chrono::milliseconds(wait_ms_max));
  }
  ended_ns_ = MonotonicNs();
  if (wait_ms_max > 0 && handled == 0) return false;
  // If connections ended the wait, the loop serves them without looking for other handlers that are
  // ready, which will end the next wait at once. For a single request, this saves one of six system
  // calls.
  const bool have_connections_ended_it =
      wait_ms_max > 0 && handled == 1 && !is_awaiting_connections_;
  if (!have_connections_ended_it) {
    while (handled < turn_.limits.handlers_max && io_context_.poll_one() > 0) ++handled;
  }
  return true;
}

// False also if the sync being awaited has already been polled for the maximum time.
bool TurnWait::IsWorthPolling() {
  const persist::StateLog* const state_log = turn_.state_log;
  if (state_log == nullptr || turn_.held.size() < kHeldToPoll || !state_log->awaits_quick_sync()) {
    return false;
  }
  const std::uint64_t now_ns = MonotonicNs();
  const std::uint64_t completed = state_log->completed_batch();
  if (std::exchange(polled_after_batch_, completed) != completed) {
    poll_until_ns_ = now_ns + kPollNsMax;
  }
  return now_ns < poll_until_ns_;
}

// Polls because the sync will end sooner than this thread could sleep and be woken. Lets other
// threads run in between.
std::size_t TurnWait::PollForCompletion() {
  std::size_t handled = 0;
  while ((handled = io_context_.poll_one()) == 0 && MonotonicNs() < poll_until_ns_) {
    std::this_thread::yield();
  }
  return handled;
}

void TurnWait::AwaitJournal() {
  wake_.Await(kJournalMsMax);
  while (io_context_.poll_one() > 0) {
  }
  ended_ns_ = MonotonicNs();
}

void TurnWait::AwaitConnections() {
  if (std::exchange(is_awaiting_connections_, true)) return;
  ready_connections_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code&) {
    is_awaiting_connections_ = false;
  });
}

// Only releases the descriptor, because the readiness set owns it.
void TurnWait::Close() { ready_connections_.release(); }

engine::TimeMs RequestDeadlines::next() const {
  if (turn_.partial_requests.empty() || turn_.limits.request_deadline_ms == 0) {
    return engine::kNever;
  }
  return std::max(turn_.partial_requests.front().begun_at_ms() + turn_.limits.request_deadline_ms,
                  no_refusal_before_);
}

void RequestDeadlines::RefuseOverdue() {
  AssertInLoop();
  // If the server itself has paused, the rest of a request may still be in the socket.
  const engine::TimeMs checked_at = std::exchange(checked_at_, turn_.now);
  if (turn_.now - checked_at > 2 * TurnWait::kTimedMsMax) {
    no_refusal_before_ = turn_.now + TurnWait::kTimedMsMax;
  }
  // Each refusal costs some system calls, so their number is bounded; if some are left, the next
  // turn begins at once.
  for (std::size_t i = 0; i < turn_.limits.closes_max && next() <= turn_.now; ++i) {
    static_cast<RespConnection&>(turn_.partial_requests.front()).RefusePartialRequest();
  }
}

}  // namespace fairlock::net
