#include "tests/simulation/fleet/seams.h"

#include <cassert>

namespace fairlock::fleet {

Thread::Thread(std::function<void()> body) : has_ended_(std::make_shared<bool>(false)) {
  Time().Spawn(Time().current_process(), std::move(body), has_ended_);
}

void Thread::join() {
  assert(joinable());
  while (!*has_ended_) Time().Block();
  has_ended_.reset();
}

void ConditionVariable::notify_all() {
  for (Fiber* fiber : waiting_) Time().Ready(*fiber);
}

void ConditionVariable::Wait() {
  Fiber* const fiber = Time().current();
  waiting_.push_back(fiber);
  Time().Block();
  std::erase(waiting_, fiber);
}

void ConditionVariable::WaitUntil(TimeUs end) {
  Fiber* const fiber = Time().current();
  waiting_.push_back(fiber);
  Time().BlockUntil(end);
  std::erase(waiting_, fiber);
}

}  // namespace fairlock::fleet
