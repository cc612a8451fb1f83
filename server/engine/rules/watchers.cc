#include "server/engine/rules/watchers.h"

namespace fairlock::engine {

void Watchers::AnswerEnded(LockEntry& lock, Effects& effects) {
  ContendedLock& contended = *lock.contended;
  const Hold* oldest_hold = lock.oldest_hold();
  Token oldest = oldest_hold == nullptr ? kTokenMax : Token{oldest_hold->token};
  while (!contended.watchers.empty() && contended.watchers.front().newest_token < oldest) {
    Watcher& watcher = contended.watchers.front();
    answers_.Answer(watcher, {.kind = ResolutionKind::kWatchEnded}, effects);
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

}  // namespace fairlock::engine
