#include <algorithm>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

void Watchers::AnswerEnded(LockEntry& lock, Effects& effects) {
  ContendedLock& contended = *lock.contended;
  const Hold* oldest_hold = lock.oldest_hold();
  Token oldest = oldest_hold == nullptr ? kTokenMax : Token{oldest_hold->token};
  while (!contended.watchers.empty() && contended.watchers.front().newest_token < oldest) {
    Watcher& watcher = contended.watchers.front();
    rules_.answers.Answer(watcher, {.kind = ResolutionKind::kWatchEnded}, effects);
    Destroy(watcher);
  }
}

void Watchers::Destroy(Watcher& watcher) {
  if (watcher.attachment != nullptr) {
    auto& pending = watcher.attachment->pending;
    pending.erase(pending.iterator_to(watcher));
  }
  state_.wheel.Cancel(watcher);
  auto& watchers = watcher.lock.contended->watchers;
  watchers.erase(watchers.iterator_to(watcher));
  --state_.counts.watchers;
  delete &watcher;
}

WaitStatus Watchers::Wait(const WaitRequest& request, Attachment& from, Step step) {
  LockEntry* lock = rules_.expiry.FindCurrent(state_.table.HashOf(request.key), request.key, step);
  if (lock == nullptr || lock->hold_count() == 0) return WaitStatus::kFree;
  if (request.timeout_ms == 0 || state_.is_in_transaction) return WaitStatus::kTimedOut;
  if (rules_.bounds.is_short_of_memory()) return WaitStatus::kOutOfMemory;
  if (state_.counts.places + state_.counts.watchers >= state_.options.places_max)
    return WaitStatus::kTooManyPlaces;
  if (rules_.bounds.IsQueueAtBound(*lock, state_.options.places_per_key_max))
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
