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
  ProlongByRepeat(lock, *hold, request, from, now);
  const bool is_longer = static_cast<DurationMs>(hold->lease_ms) != recorded_ms;
  if (brings_options || is_longer || hold->is_remaining_stored()) state_.LogHold(hash, *hold);
  events_.Emit(EventKind::kReacquired, hash, lock, *hold, now);
  return *hold;
}

void RepeatedHolds::ProlongByRepeat(LockEntry& lock, Hold& hold, const LockRequest& request,
                                    Attachment& from, TimeMs now) {
  const DurationMs asked_ms = claims_.LeaseOf(request);
  const TimeMs asked_end = asked_ms == 0 ? kNever : now + asked_ms;
  TimeMs end = Holds::LeaseEndOf(hold);
  if (!hold.is_claim()) {
    const bool has_end = end < kNever;
    if (has_end && asked_ms > static_cast<DurationMs>(hold.lease_ms)) hold.SetLeaseMs(asked_ms);
    state_.wheel.Schedule(hold, std::max(end, asked_end), TimerClass::kLease);
    return;
  }
  auto& claim = static_cast<Claim&>(hold);
  if (request.terms.session_grace_ms) {
    claim.NeedExtras().terms.session_grace_ms = request.terms.session_grace_ms;
    Attachment& to = request.notify ? static_cast<Attachment&>(*claim.channel()) : from;
    holds_.Bind(claim, to);
    end = std::max(end, asked_end);
  } else if (claim.has_session()) {
    // The requested lease replaces the session, which has no lease that could be longer.
    claim.extras->terms.session_grace_ms.reset();
    holds_.Unbind(claim);
    end = end >= kNever ? asked_end : std::max(end, asked_end);
  } else {
    end = std::max(end, asked_end);
  }
  const auto recorded_ms = static_cast<DurationMs>(claim.lease_ms);
  if (end >= kNever) {
    claim.SetLeaseMs(0);
  } else {
    claim.SetLeaseMs(std::max(recorded_ms, asked_ms));
  }
  holds_.SetLeaseEnd(*lock.contended, claim, end);
}

bool RepeatedHolds::BringsOptions(const Hold& hold, const LockRequest& request) const {
  return hold.is_redis_way() || request.terms.session_grace_ms != TermsOf(hold).session_grace_ms ||
         (request.meta && request.meta != MetaOf(hold)) ||
         (request.notify && !HasChannel(hold, request.notify)) ||
         (request.label && *request.label != state_.labels.Text(hold.label));
}

}  // namespace fairlock::engine
