// Refuses requests that do not arrive completely in time.
#pragma once

#include "server/net/turn/turn.h"

namespace fairlock::net {

// Loop-confined.
class RequestDeadlines {
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
