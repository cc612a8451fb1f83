#include <algorithm>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

bool Renewals::Renew(const RenewRequest& request, Step step) {
  const std::uint64_t hash = state_.table.HashOf(request.key);
  LockEntry* lock = rules_.expiry.FindCurrent(hash, request.key, step);
  if (lock == nullptr) return false;
  Hold* hold = rules_.holds.Find(*lock, request.owner, request.token);
  if (!IsRenewable(hold)) return false;
  RenewOne(hash, *lock, *hold, request, step.now);
  return true;
}

// During the grace of a session, only a LOCK by the owner brings the hold back. A hold that leaves
// keeps its end.
bool Renewals::IsRenewable(const Hold* hold) {
  if (hold == nullptr || hold->is_leaving()) return false;
  if (!hold->is_claim()) return true;
  const auto& claim = static_cast<const Claim&>(*hold);
  return !claim.has_session() || claim.attachment != nullptr;
}

void Renewals::RenewOne(std::uint64_t hash, LockEntry& lock, Hold& hold,
                        const RenewRequest& request, TimeMs now) {
  const auto recorded_ms = static_cast<DurationMs>(hold.lease_ms);
  DurationMs lease_ms = request.lease_ms.value_or(recorded_ms);
  TimeMs end = lease_ms == 0 ? kNever : now + lease_ms;
  if (request.only_lengthens) {
    end = std::max(end, Holds::LeaseEndOf(hold));
    // A restart begins the recorded length anew, so a shorter one could end before `end`.
    lease_ms = end >= kNever ? 0 : std::max(lease_ms, recorded_ms);
  }
  hold.SetLeaseMs(lease_ms);
  if (lease_ms != recorded_ms || hold.is_remaining_stored()) state_.LogHold(hash, hold);
  if (hold.is_claim()) {
    auto& claim = static_cast<Claim&>(hold);
    Holds::Confirm(claim);
    rules_.holds.SetLeaseEnd(*lock.contended, claim, end);
  } else {
    lock.plain.set_touched(true);
    state_.wheel.Schedule(hold, end, TimerClass::kLease);
  }
  rules_.events.Emit(EventKind::kRenewed, hash, lock, hold, now);
}

void Renewals::ExtendUnsentLease(const ChangeLog::Name& name, DurationMs delay_ms) {
  LockEntry* lock = state_.table.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    return Holds::FindToken(entry, name.number) != nullptr;
  });
  if (lock == nullptr) return;
  auto& hold = const_cast<Hold&>(*Holds::FindToken(*lock, name.number));
  if (hold.is_leaving()) return;
  const TimeMs end = std::min(Holds::LeaseEndOf(hold) + delay_ms, kNever);
  if (hold.is_remaining_stored()) state_.LogHold(name.key_hash, hold);
  if (!hold.is_claim()) {
    state_.wheel.Schedule(hold, end, TimerClass::kLease);
    return;
  }
  auto& claim = static_cast<Claim&>(hold);
  const bool is_in_grace = claim.has_session() && claim.attachment == nullptr;
  const TimeMs deadline = claim.deadline();
  rules_.holds.SetLeaseEnd(*lock->contended, claim, end);
  // The grace of a session began when its connection closed, so a late reply does not prolong it.
  if (is_in_grace)
    state_.ScheduleMember(*lock->contended, claim, std::min(deadline, end), TimerClass::kLease);
  if (claim.extras != nullptr && claim.extras->cool_until != 0) {
    claim.extras->cool_until = std::min(claim.extras->cool_until + delay_ms, kNever);
  }
}

}  // namespace fairlock::engine
