// Answers: a request that waits gets exactly one answer, on its connection or, with NOTIFY, as a
// notice on its channel.
#pragma once

#include "server/engine/api/step.h"
#include "server/engine/rules/events.h"
#include "server/engine/state/lock_entry.h"

namespace fairlock::engine {

// Loop-confined.
class Answers {
 public:
  explicit Answers(Events& events) : events_(events) {}

  void Answer(Pending& pending, const Resolution& resolution, Effects& effects);
  // Answers on the channel of the place, if it has one. Also for a place that has just become a
  // hold.
  void AnswerPlace(Claim& place, const Resolution& resolution, Step step);

 private:
  Events& events_;
};

}  // namespace fairlock::engine
