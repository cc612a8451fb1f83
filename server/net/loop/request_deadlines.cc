#include "server/net/loop/request_deadlines.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "server/net/loop/turn_wait.h"
#include "server/net/resp/resp_connection.h"

namespace fairlock::net {

engine::TimeMs RequestDeadlines::next() const {
  if (turn_.partial_requests.empty() || turn_.limits.request_deadline_ms == 0) {
    return engine::kNever;
  }
  return std::max(turn_.partial_requests.front().begun_at_ms() + turn_.limits.request_deadline_ms,
                  no_refusal_before_);
}

void RequestDeadlines::RefuseOverdue() {
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
