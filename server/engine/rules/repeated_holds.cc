#include "server/engine/rules/repeated_holds.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "server/engine/state/claim_options.h"

namespace fairlock::engine {

bool RepeatedHolds::Covers(const Mode& held, const Mode& asked) {
  if (held.is_shared) return asked.is_shared;
  return held.limit == 1 || (!asked.is_shared && asked.limit >= held.limit);
}

Hold& RepeatedHolds::Reacquire(std::uint64_t hash, LockEntry& lock, Hold& held,
                               const LockRequest& request, Attachment& from, TimeMs now) {
  const bool brings_options = BringsOptions(held, request);
  const auto recorded_ms = static_cast<DurationMs>(held.lease_ms);
  Hold* hold = &held;
  const bool brings_meta = request.meta && request.meta != MetaOf(held);
  if ((brings_meta || request.terms.session_grace_ms || request.notify) && !hold->is_claim()) {
    hold = &claims_.MovePlainHoldToClaim(lock);
  }
  std::shared_ptr<NotifyChannel> channel_before;  // its session may still be bound to it
  if (request.notify) {
    ClaimExtras& extras = static_cast<Claim*>(hold)->NeedExtras();
    channel_before = std::exchange(extras.channel, state_.channels.Need(*request.notify));
  }
  if (brings_meta) {
    static_cast<Claim*>(hold)->NeedExtras().meta =
        std::make_shared<const std::string>(*request.meta);
  }
  if (request.label) {
    state_.labels.DropUse(hold->label);
    hold->label = state_.labels.Use(*request.label) & kLabelRefMax;
  }
  hold->set_redis_way(false);
  claims_.SetClient(*hold, from.client);
  const TimeMs end_before = Holds::LeaseEndOf(*hold);
  if (hold->is_claim())
    BindSession(static_cast<Claim&>(*hold), channel_before.get(), request, from);
  ProlongByRepeat(lock, *hold, end_before, request, now);
  const bool is_longer = static_cast<DurationMs>(hold->lease_ms) != recorded_ms;
  if (brings_options || is_longer || hold->is_remaining_stored()) state_.LogHold(hash, *hold);
  events_.Emit(EventKind::kReacquired, hash, lock, *hold, now);
  return *hold;
}

// Without SESSION, a session stays as it is. Only if its connection has closed, or if it belongs to
// a channel that the request replaces, the request brings it to another one.
void RepeatedHolds::BindSession(Claim& hold, const Attachment* channel_before,
                                const LockRequest& request, Attachment& from) {
  if (request.terms.session_grace_ms) {
    hold.NeedExtras().terms.session_grace_ms = request.terms.session_grace_ms;
  } else if (!hold.has_session()) {
    return;
  } else if (hold.attachment != nullptr && hold.attachment != &state_.closed &&
             hold.attachment != channel_before) {
    return;
  }
  holds_.Bind(hold, request.notify ? static_cast<Attachment&>(*hold.channel()) : from);
}

void RepeatedHolds::ProlongByRepeat(LockEntry& lock, Hold& hold, TimeMs end_before,
                                    const LockRequest& request, TimeMs now) {
  const DurationMs asked_ms = claims_.LeaseOf(request);
  const TimeMs asked_end = asked_ms == 0 ? kNever : now + asked_ms;
  const TimeMs end = std::max(end_before, asked_end);
  if (!hold.is_claim()) {
    const bool had_end = end_before < kNever;
    if (had_end && asked_ms > static_cast<DurationMs>(hold.lease_ms)) hold.SetLeaseMs(asked_ms);
    state_.wheel.Schedule(hold, end, TimerClass::kLease);
    return;
  }
  auto& claim = static_cast<Claim&>(hold);
  const auto recorded_ms = static_cast<DurationMs>(claim.lease_ms);
  if (end >= kNever) {
    claim.SetLeaseMs(0);
  } else {
    claim.SetLeaseMs(std::max(recorded_ms, asked_ms));
  }
  holds_.SetLeaseEnd(*lock.contended, claim, end);
}

bool RepeatedHolds::BringsOptions(const Hold& hold, const LockRequest& request) const {
  const auto& asked_grace_ms = request.terms.session_grace_ms;
  return hold.is_redis_way() ||
         (asked_grace_ms && asked_grace_ms != TermsOf(hold).session_grace_ms) ||
         (request.meta && request.meta != MetaOf(hold)) ||
         (request.notify && !HasChannel(hold, request.notify)) ||
         (request.label && *request.label != state_.labels.Text(hold.label));
}

}  // namespace fairlock::engine
