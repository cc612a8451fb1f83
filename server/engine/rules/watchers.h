// WAIT: the request is answered when every hold that exists now has ended; later holds do not
// count.
#pragma once

#include "server/engine/api/requests.h"
#include "server/engine/rules/rule.h"

namespace fairlock::engine {

class Watchers : Rule {
 public:
  using Rule::Rule;

  WaitStatus Wait(const WaitRequest& request, Attachment& from, Step step);
  // Answers the watchers of which all holds have ended.
  void AnswerEnded(LockEntry& lock, Effects& effects);
  void Destroy(Watcher& watcher);
};

}  // namespace fairlock::engine
