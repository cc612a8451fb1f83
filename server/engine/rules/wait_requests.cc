#include "server/engine/rules/wait_requests.h"

#include <algorithm>

namespace fairlock::engine {

WaitStatus WaitRequests::Wait(const WaitRequest& request, Attachment& from, Step step) {
  LockEntry* lock = expiry_.FindCurrent(state_.table.HashOf(request.key), request.key, step);
  if (lock == nullptr || lock->hold_count() == 0) return WaitStatus::kFree;
  if (request.timeout_ms == 0 || state_.is_in_transaction) return WaitStatus::kTimedOut;
  if (bounds_.is_short_of_memory()) return WaitStatus::kOutOfMemory;
  if (state_.counts.places + state_.counts.watchers >= state_.options.places_max)
    return WaitStatus::kTooManyPlaces;
  if (bounds_.IsQueueAtBound(*lock, state_.options.places_per_key_max))
    return WaitStatus::kTooManyOnKey;
  ContendedLock& contended = lock->NeedContended();
  auto* watcher = new Watcher(*lock, state_.counts.newest_token, state_.next_arrival++);
  contended.watchers.push_back(*watcher);
  watcher->attachment = &from;
  from.pending.push_back(*watcher);
  ++state_.counts.watchers;
  state_.ScheduleMember(contended, *watcher, std::min(step.now + request.timeout_ms, kNever),
                        TimerClass::kWait);
  return WaitStatus::kWaiting;
}

}  // namespace fairlock::engine
