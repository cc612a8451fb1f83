#include "server/http/lock_survey.h"

#include <algorithm>

namespace fairlock::http {

LockSurvey::LockSurvey(command::ServerParts& server) : server_(server) {
  const record::LabelTotals* totals = server.recorder.totals();
  by_label_.resize(totals == nullptr ? 1 : totals->all().size());
}

bool LockSurvey::Step(engine::TimeMs now) {
  const engine::LockEngine& engine = server_.locks.engine();
  // Scans the locks a second time, because the summary does not say whether a hold is endless.
  engine.inspection().Scan(
      cursor_, kLocksPerStep, {.is_endless = true}, now,
      [this](const engine::LockSummary& lock) { ++OfLabel(lock.label).endless_locks; });
  cursor_ = engine.inspection().Scan(
      cursor_, kLocksPerStep, {}, now, [this](const engine::LockSummary& lock) {
        LocksOfLabel& label = OfLabel(lock.label);
        label.holders += lock.holder_count;
        label.waiters += lock.waiter_count;
        label.oldest_hold_ms = std::max(label.oldest_hold_ms, lock.oldest_hold_ms);
        label.longest_wait_ms = std::max(label.longest_wait_ms, lock.longest_wait_ms);
      });
  return cursor_ == 0;
}

LocksOfLabel& LockSurvey::OfLabel(std::string_view label) {
  const record::LabelTotals* totals = server_.recorder.totals();
  const std::size_t index = totals == nullptr ? 0 : totals->IndexOf(label);
  // A label that is newer than the beginning of the walk has no entry, so it counts as
  // LabelTotals::kOther, at index 1.
  return by_label_[index < by_label_.size() ? index : 1];
}

}  // namespace fairlock::http
