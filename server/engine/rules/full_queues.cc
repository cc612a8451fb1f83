#include "server/engine/rules/full_queues.h"

namespace fairlock::engine {

bool FullQueues::IsFull(const LockEntry& lock, const LockRequest& request) {
  return request.waiters_max && lock.active_count() >= *request.waiters_max;
}

Claim& FullQueues::NewestOf(LockEntry& lock) { return lock.contended->active.back(); }

void FullQueues::ReplaceNewest(LockEntry& lock, std::string_view by, Step step) {
  Claim& newest = NewestOf(lock);
  answers_.AnswerPlace(
      newest, {.kind = ResolutionKind::kReplaced, .by = grants_.OutlivingTransaction(by)}, step);
  events_.EmitPlace(EventKind::kReplaced, newest, step.now, by);
  wait_queue_.Remove(newest, Cause::kRequest);
  grants_.GrantNext(lock, step);
}

}  // namespace fairlock::engine
