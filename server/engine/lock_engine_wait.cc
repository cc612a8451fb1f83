// WAIT: who asks for nothing but to be told when the holders of now are gone.

#include <algorithm>

#include "server/engine/lock_engine.h"

namespace fairlock::engine {

WaitStatus LockEngine::Wait(const WaitRequest& request, Attachment& from, TimeMs now,
                            Effects& effects) {
  LockEntry* lock = FindSettled(table_.HashOf(request.key), request.key, now, effects);
  if (lock == nullptr || lock->hold_count() == 0) return WaitStatus::kFree;
  if (request.timeout_ms == 0 || is_in_step()) return WaitStatus::kTimedOut;
  if (is_short_of_memory()) return WaitStatus::kOutOfMemory;
  if (counts_.places + counts_.watchers >= options_.places_max) return WaitStatus::kTooManyPlaces;
  if (IsLineAtBound(*lock, options_.places_per_key_max)) return WaitStatus::kTooManyOnKey;
  LockDetail& detail = lock->NeedDetail();
  auto* watcher = new Watcher(*lock, counts_.newest_token, next_arrival_++);
  detail.watchers.push_back(*watcher);
  watcher->attachment = &from;
  from.pending.push_back(*watcher);
  ++counts_.watchers;
  ScheduleMember(detail, *watcher, std::min(now + request.timeout_ms, kNever), TimerClass::kWait);
  return WaitStatus::kWaiting;
}

}  // namespace fairlock::engine
