// MAXWAITERS and REPLACE: a request is denied if the queue already has as many active places as the
// request's MAXWAITERS; with REPLACE, the newest of these places ends instead.
#pragma once

#include <string_view>

#include "server/engine/api/requests.h"
#include "server/engine/api/step.h"
#include "server/engine/rules/answers.h"
#include "server/engine/rules/events.h"
#include "server/engine/rules/grants.h"
#include "server/engine/rules/wait_queue.h"

namespace fairlock::engine {

// Loop-confined.
class FullQueues {
 public:
  FullQueues(Events& events, WaitQueue& wait_queue, Answers& answers, Grants& grants)
      : events_(events), wait_queue_(wait_queue), answers_(answers), grants_(grants) {}

  static bool IsFull(const LockEntry& lock, const LockRequest& request);
  static Claim& NewestOf(LockEntry& lock);
  void ReplaceNewest(LockEntry& lock, std::string_view by, Step step);

 private:
  Events& events_;
  WaitQueue& wait_queue_;
  Answers& answers_;
  Grants& grants_;
};

}  // namespace fairlock::engine
