#include "server/engine/rules/departures.h"

#include <algorithm>
#include <cassert>

namespace fairlock::engine {

BreakResult Departures::GiveNotice(const KeyName& key, std::optional<std::string_view> owner,
                                   DurationMs grace_ms, Step step) {
  assert(grace_ms > 0);
  const std::uint64_t hash = state_.table.HashOf(key);
  LockEntry* lock = expiry_.FindCurrent(hash, key, step);
  if (lock == nullptr) return {};
  if (owner) {
    Hold* hold = holds_.Find(*lock, *owner, std::nullopt);
    if (hold == nullptr) return {};
    NotifyOne(hash, *lock, *hold, grace_ms, step.now);
    return {.holds = 1};
  }
  if (lock->has_plain_hold()) NotifyOne(hash, *lock, lock->plain, grace_ms, step.now);
  if (lock->contended != nullptr) {
    for (Claim& hold : lock->contended->holds) NotifyOne(hash, *lock, hold, grace_ms, step.now);
  }
  return {.holds = lock->hold_count()};
}

void Departures::NotifyOne(std::uint64_t hash, LockEntry& lock, Hold& hold, DurationMs grace_ms,
                           TimeMs now) {
  const TimeMs end_before = Holds::LeaseEndOf(hold);
  const TimeMs end = std::min(end_before, now + grace_ms);
  if (hold.is_leaving() && end == end_before) return;
  hold.set_leaving(true);
  // A restart begins the recorded length anew; 0 would mean that the lease never ends.
  hold.SetLeaseMs(std::max<DurationMs>(end - now, 1));
  if (!hold.is_claim()) {
    state_.wheel.Schedule(hold, end, TimerClass::kLease);
  } else {
    auto& claim = static_cast<Claim&>(hold);
    if (claim.extras != nullptr) {
      claim.extras->lease_end = end;
      // As after BREAK, no cooldown follows.
      claim.extras->terms.min_hold_ms = 0;
      claim.extras->cool_until = 0;
    }
    // The grace of a session continues to run.
    state_.ScheduleMember(*lock.contended, claim, std::min(claim.deadline(), end),
                          TimerClass::kLease);
  }
  state_.LogHold(hash, hold);
  events_.EmitLeaving(hash, lock, hold, end, 0, now);
}

}  // namespace fairlock::engine
