#include "server/engine/lock_engine.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

namespace fairlock::engine {

LockResult LockEngine::Lock(const LockRequest& request, Attachment& from, TimeMs now,
                            Effects& effects) {
  const std::uint64_t hash = table_.HashOf(request.key);
  recent_.Prefetch(hash);
  LockEntry* lock = FindSettled(hash, request.key, now, effects);
  if (lock == nullptr) {
    if (IsDrained(request.key)) return AskDrained(hash, request, from, now, effects);
    return GrantNewLock(hash, request, from, now);
  }
  if (Hold* hold = FindHold(*lock, request.owner, std::nullopt)) {
    if (request.only_new) {
      return Deny(hash, *lock, request, from.client, DenialReason::kHeld, now);
    }
    if (!Covers(ModeOf(*hold), request.mode())) return {LockStatus::kModeDiffers};
    if (BringsTooMuch(*hold, request)) return {LockStatus::kOutOfMemory};
    const Hold& held = Reacquire(hash, *lock, *hold, request, from, now);
    return {LockStatus::kAlready, DenialReason::kNone, held.token, hash};
  }
  if (lock->detail != nullptr) {
    if (Claim* place = table_.FindClaim(*lock, request.owner)) {
      if (request.is_redis_way) {
        return AskAgainByValue(hash, *place, request, from, now, effects);
      }
      if (place->group() != nullptr) return {LockStatus::kWaitsByMlock};
      return RepeatWaiting(*place, request, from, now, effects);
    }
  }
  const LockResult result = AskAnew(hash, *lock, request, from, now, effects);
  // On a drained key the place that REPLACE ended may have been all there was.
  if (IsRefusal(result.status)) Discard(hash, *lock);
  return result;
}

LockResult LockEngine::GrantNewLock(std::uint64_t hash, const LockRequest& request,
                                    Attachment& from, TimeMs now) {
  if (const auto refusal = WhyNoNewLock(from.client)) return {*refusal};
  ++counts_.locks;
  ++locks_by_db_[request.key.db];
  const bool is_plain = request.limit.value_or(1) == 1 && !request.is_shared &&
                        !request.session_grace_ms && request.min_hold_ms == 0 && !request.notify;
  if (!is_plain) {
    return GrantAtOnce(hash, table_.Create(hash, request.key, {}), request, from, now);
  }
  LockEntry& lock = table_.Create(
      hash, request.key,
      {.owner = request.owner, .is_limit_given = request.limit.has_value(), .meta = request.meta});
  Hold& hold = lock.plain;
  hold.client = from.client & kClientRefMax;
  clients_.AddUse(from.client);
  if (request.label || !label_rules_.empty()) {
    hold.label = labels_.Use(LabelOf(request, request.key.bytes)) & kLabelRefMax;
  }
  const DurationMs lease_ms = LeaseOf(request);
  hold.SetLeaseMs(lease_ms);
  hold.set_redis_way(request.is_redis_way);
  StartHold(hold, NextToken(), lease_ms == 0 ? kNever : now + lease_ms, now);
  NoteHold(hash, hold);
  Tell(EventKind::kGranted, hash, lock, hold, now);
  return {LockStatus::kGranted, DenialReason::kNone, hold.token, hash};
}

// A key that nobody holds or waits for.
LockResult LockEngine::AskDrained(std::uint64_t hash, const LockRequest& request, Attachment& from,
                                  TimeMs now, Effects& effects) {
  if (const auto refusal = WhyNoNewLocks(1)) return {*refusal};
  ++counts_.locks;
  ++locks_by_db_[request.key.db];
  LockEntry& lock = table_.Create(hash, request.key, {});
  lock.NeedDetail();
  const LockResult result = AskAnew(hash, lock, request, from, now, effects);
  Discard(hash, lock);
  return result;
}

LockResult LockEngine::GrantAtOnce(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                                   Attachment& from, TimeMs now) {
  Claim& claim = CreateClaim(lock, request, from.client);
  AddHold(claim, NextToken(), &from, now);
  NoteHold(hash, claim);
  Tell(EventKind::kGranted, hash, lock, claim, now);
  return {LockStatus::kGranted, DenialReason::kNone, claim.token, hash};
}

bool LockEngine::Covers(const Mode& held, const Mode& asked) {
  if (held.is_shared) return asked.is_shared;
  return held.limit == 1 || (!asked.is_shared && asked.limit >= held.limit);
}

Hold& LockEngine::Reacquire(std::uint64_t hash, LockEntry& lock, Hold& held,
                            const LockRequest& request, Attachment& from, TimeMs now) {
  const bool brings_options = BringsOptions(held, request);
  const auto recorded_ms = static_cast<DurationMs>(held.lease_ms);
  Hold* hold = &held;
  const bool brings_meta = request.meta && request.meta != MetaOf(held);
  if ((brings_meta || request.session_grace_ms || request.notify) && !hold->is_claim()) {
    hold = &MovePlainHoldToClaim(lock);
  }
  std::shared_ptr<NotifyChannel> channel_before;  // its session may still be bound to it
  if (request.notify) {
    ClaimExtras& extras = static_cast<Claim*>(hold)->NeedExtras();
    channel_before = std::exchange(extras.channel, channels_.Need(*request.notify));
  }
  if (brings_meta) {
    static_cast<Claim*>(hold)->NeedExtras().meta =
        std::make_shared<const std::string>(*request.meta);
  }
  if (request.label) {
    labels_.DropUse(hold->label);
    hold->label = labels_.Use(*request.label) & kLabelRefMax;
  }
  hold->set_redis_way(false);
  SetClient(*hold, from.client);
  ProlongByRepeat(lock, *hold, request, from, now);
  const bool is_longer = static_cast<DurationMs>(hold->lease_ms) != recorded_ms;
  if (brings_options || is_longer || hold->is_left_kept()) NoteHold(hash, *hold);
  Tell(EventKind::kReacquired, hash, lock, *hold, now);
  return *hold;
}

void LockEngine::ProlongByRepeat(LockEntry& lock, Hold& hold, const LockRequest& request,
                                 Attachment& from, TimeMs now) {
  const DurationMs asked_ms = LeaseOf(request);
  const TimeMs asked_end = asked_ms == 0 ? kNever : now + asked_ms;
  TimeMs end = LeaseEndOf(hold);
  if (!hold.is_claim()) {
    const bool has_end = end < kNever;
    if (has_end && asked_ms > static_cast<DurationMs>(hold.lease_ms)) hold.SetLeaseMs(asked_ms);
    wheel_.Schedule(hold, std::max(end, asked_end), TimerClass::kLease);
    return;
  }
  auto& claim = static_cast<Claim&>(hold);
  if (request.session_grace_ms) {
    claim.NeedExtras().session_grace_ms = request.session_grace_ms;
    Attachment& to = request.notify ? static_cast<Attachment&>(*claim.channel()) : from;
    Bind(claim, to);
    end = std::max(end, asked_end);
  } else if (claim.has_session()) {
    // The lease replaces the session; a session without lease leaves nothing to be longer.
    claim.extras->session_grace_ms.reset();
    Unbind(claim);
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
  SetLeaseEnd(*lock.detail, claim, end);
}

LockResult LockEngine::RepeatWaiting(Claim& place, const LockRequest& request, Attachment& from,
                                     TimeMs now, Effects& effects) {
  const Mode asked = request.mode();
  const bool was_reserved = place.is_reserved;
  Unreserve(place);
  const Claim* blocked = FindBlocked(place, asked);
  const DenialReason reason =
      blocked != nullptr ? ReasonFor(blocked->lock, asked) : DenialReason::kNone;
  const bool is_asking_only = WaitOf(request) == 0 && request.keep_ms == 0;
  bool brings_too_much = false;
  ForEachClaim(place, [&](Claim& claim) { brings_too_much |= BringsTooMuch(claim, request); });
  const bool is_deadlock =
      blocked != nullptr && WaitOf(request) > 0 && IsDeadlockOfPlace(place, asked, now);
  if (blocked != nullptr && (is_asking_only || is_deadlock)) {
    if (was_reserved) Reserve(place);
    const std::uint64_t hash = table_.HashOf(blocked->lock.key());
    LockResult denied = is_deadlock ? RefuseDeadlock(blocked->lock, request, from.client, now)
                                    : Deny(hash, blocked->lock, request, from.client, reason, now);
    denied.key = blocked->rank();
    return denied;
  }
  if (brings_too_much) {
    if (was_reserved) Reserve(place);
    return {LockStatus::kOutOfMemory};
  }
  // SET NX is denied, whatever place it has.
  if (blocked != nullptr && request.is_redis_way) {
    Deny(table_.HashOf(place.lock.key()), place.lock, request, from.client, reason, now);
  }
  Supersede(place, request, now, effects);
  const bool was_marked = place.state == ClaimState::kMarked;
  const bool is_asked_alike = HasOptions(place, request) && !was_marked;
  ForEachClaim(place, [&](Claim& claim) { ApplyOptions(claim, request, from.client); });
  if (blocked == nullptr) {
    NoteWait(place, request, now);
    GrantPlace(place, &from, now);
    const Token token = place.token;
    Serve(place.lock, now, effects);
    return {LockStatus::kGranted, DenialReason::kNone, token, table_.HashOf(place.lock.key())};
  }
  if (was_marked) TellQueued(place, reason, now);
  AwaitOrKeep(place, request, from, now);
  if (!is_asked_alike) NotePlace(place);
  // Its room, or its absence, may have been what others wait for or were passing by.
  NoteOtherLines(place);
  Serve(place.lock, now, effects);
  return {.status = WaitOf(request) == 0 ? LockStatus::kKept : LockStatus::kQueued,
          .reason = reason,
          .key = blocked->rank()};
}

// The same channel hears of the outcome all the same.
void LockEngine::Supersede(Claim& place, const LockRequest& request, TimeMs now, Effects& effects) {
  LeaveAbsent(place);
  Pending& pending = RequestOf(place);
  NotifyChannel* channel = place.channel();
  const bool is_same_channel = channel != nullptr && request.notify == channel->name;
  if (is_same_channel && pending.attachment != nullptr) {
    channel->pending.erase(channel->pending.iterator_to(pending));
    pending.attachment = nullptr;
    return;
  }
  AnswerPlace(place, {.kind = ResolutionKind::kSuperseded}, now, effects);
}

LockResult LockEngine::AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                               Attachment& from, TimeMs now, Effects& effects) {
  const Mode asked = request.mode();
  const auto refusal = WhyNotMore(from.client);
  if (MayPass(lock, asked)) {
    return refusal ? LockResult{*refusal} : GrantAtOnce(hash, lock, request, from, now);
  }
  if (WaitOf(request) == 0 && request.keep_ms == 0) {
    const LockResult denied = Deny(hash, lock, request, from.client, ReasonFor(lock, asked), now);
    if (request.is_redis_way) MarkValue(lock, request, from, now);
    return denied;
  }
  const bool is_full = IsFull(lock, request);
  if (is_full && (!request.replaces_newest || lock.standing_count() == 0)) {
    return Deny(hash, lock, request, from.client, DenialReason::kFull, now);
  }
  if (refusal) return {*refusal};
  const Claim* leaving = is_full ? &NewestOf(lock) : nullptr;
  if (WaitOf(request) > 0 && IsDeadlockOfNewcomer(lock, request, leaving, now)) {
    return RefuseDeadlock(lock, request, from.client, now);
  }
  if (is_full) {
    ReplaceNewest(lock, request.owner, now, effects);
    if (MayPass(lock, asked)) return GrantAtOnce(hash, lock, request, from, now);
    // If an MLOCK was replaced, others may have been granted on its other keys, and more wait now
    // for what they hold.
    if (WaitOf(request) > 0 && IsDeadlockOfNewcomer(lock, request, nullptr, now)) {
      return RefuseDeadlock(lock, request, from.client, now);
    }
  }
  if (counts_.places + counts_.watchers >= options_.places_max) {
    return {LockStatus::kTooManyPlaces};
  }
  if (IsLineAtBound(lock, options_.places_per_key_max)) return {LockStatus::kTooManyOnKey};
  const DenialReason reason = ReasonFor(lock, asked);
  Claim& place = CreateClaim(lock, request, from.client);
  JoinLine(place, request, from, now);
  TellQueued(place, reason, now);
  return {WaitOf(request) == 0 ? LockStatus::kKept : LockStatus::kQueued, reason};
}

bool LockEngine::MayPass(const LockEntry& lock, const Mode& mode) const {
  return !IsAnyoneAhead(lock, ~std::uint64_t{0}) && HasRoom(lock, mode);
}

bool LockEngine::IsFull(const LockEntry& lock, const LockRequest& request) {
  return request.waiters_max && lock.standing_count() >= *request.waiters_max;
}

Claim& LockEngine::NewestOf(LockEntry& lock) { return lock.detail->standing.back(); }

void LockEngine::ReplaceNewest(LockEntry& lock, std::string_view by, TimeMs now, Effects& effects) {
  Claim& newest = NewestOf(lock);
  AnswerPlace(newest, {.kind = ResolutionKind::kReplaced, .by = OutlivingStep(by)}, now, effects);
  TellPlace(EventKind::kReplaced, newest, now, by);
  RemovePlace(newest, Cause::kRequest);
  Serve(lock, now, effects);
}

bool LockEngine::Unlock(const UnlockRequest& request, TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(request.key);
  recent_.Prefetch(hash);
  LockEntry* lock = FindSettled(hash, request.key, now, effects);
  if (lock == nullptr) return false;
  Hold* hold = FindHold(*lock, request.owner, request.token);
  if (hold != nullptr) {
    EndHold(hash, *lock, *hold, HoldEnd::kReleased, now);
    Serve(*lock, now, effects);
    Discard(hash, *lock);
    return true;
  }
  if (!request.token) Cancel(request.key, request.owner, now, effects);
  return false;
}

bool LockEngine::Renew(const RenewRequest& request, TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(request.key);
  LockEntry* lock = FindSettled(hash, request.key, now, effects);
  if (lock == nullptr) return false;
  Hold* hold = FindHold(*lock, request.owner, request.token);
  if (!IsRenewable(hold)) return false;
  RenewHold(hash, *lock, *hold, request, now);
  return true;
}

// Within the grace of a session only its LOCK brings the hold back.
bool LockEngine::IsRenewable(const Hold* hold) {
  if (hold == nullptr || !hold->is_claim()) return hold != nullptr;
  const auto& claim = static_cast<const Claim&>(*hold);
  return !claim.has_session() || claim.attachment != nullptr;
}

void LockEngine::RenewHold(std::uint64_t hash, LockEntry& lock, Hold& hold,
                           const RenewRequest& request, TimeMs now) {
  const auto recorded_ms = static_cast<DurationMs>(hold.lease_ms);
  const DurationMs lease_ms = request.lease_ms.value_or(recorded_ms);
  hold.SetLeaseMs(lease_ms);
  if (lease_ms != recorded_ms || hold.is_left_kept()) NoteHold(hash, hold);
  if (hold.is_claim()) {
    auto& claim = static_cast<Claim&>(hold);
    Confirm(claim);
    SetLeaseEnd(*lock.detail, claim, lease_ms == 0 ? kNever : now + lease_ms);
  } else {
    lock.plain.set_touched(true);
    wheel_.Schedule(hold, lease_ms == 0 ? kNever : now + lease_ms, TimerClass::kLease);
  }
  Tell(EventKind::kRenewed, hash, lock, hold, now);
}

bool LockEngine::Check(const KeyName& key, Token token, TimeMs now, Effects& effects) {
  const LockEntry* lock = FindSettled(table_.HashOf(key), key, now, effects);
  return lock != nullptr && FindToken(*lock, token) != nullptr;
}

bool LockEngine::Cancel(const KeyName& key, std::string_view owner, TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(key);
  LockEntry* lock = FindSettled(hash, key, now, effects);
  if (lock == nullptr || lock->detail == nullptr) return false;
  Claim* place = table_.FindClaim(*lock, owner);
  if (place == nullptr || !place->is_place()) return false;
  // A mark goes too, but is no place yet.
  const bool was_place = place->state != ClaimState::kMarked;
  CancelPlace(*place, now, effects);
  Serve(*lock, now, effects);
  Discard(hash, *lock);
  return was_place;
}

void LockEngine::CancelPlace(Claim& place, TimeMs now, Effects& effects) {
  AnswerPlace(place, {.kind = ResolutionKind::kCancelled}, now, effects);
  TellPlace(EventKind::kCancelled, place, now);
  RemovePlace(place, Cause::kRequest);
}

std::uint64_t LockEngine::Break(const KeyName& key, std::optional<std::string_view> owner,
                                TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(key);
  LockEntry* lock = FindSettled(hash, key, now, effects);
  if (lock == nullptr) return 0;
  std::uint64_t ended = 0;
  bool was_taken = false;
  if (owner) {
    if (Hold* hold = FindHold(*lock, *owner, std::nullopt)) {
      EndHold(hash, *lock, *hold, HoldEnd::kBroken, now);
      ++ended;
    }
  } else {
    ended = lock->hold_count();
    was_taken = ended == 0 && lock->detail->rooms.taken() > 0;
    EndReservationsAndCooling(*lock, now);
    if (lock->has_plain_hold()) EndHold(hash, *lock, lock->plain, HoldEnd::kBroken, now);
    while (lock->detail != nullptr && !lock->detail->holds.empty()) {
      EndHold(hash, *lock, lock->detail->holds.front(), HoldEnd::kBroken, now);
    }
  }
  if (was_taken) {
    lock->detail->vacating = Cause::kRequest;
  } else if (ended > 0 && lock->detail != nullptr) {
    lock->detail->vacating.reset();  // the end of a hold is told already
  }
  Serve(*lock, now, effects);
  Discard(hash, *lock);
  return ended;
}

void LockEngine::EndReservationsAndCooling(LockEntry& lock, TimeMs now) {
  if (lock.detail == nullptr) return;
  LockDetail& detail = *lock.detail;
  while (!detail.cooling.empty()) EndCooling(detail.cooling.front());
  for (auto at = detail.standing.begin(); at != detail.standing.end();) {
    Claim& place = *at;
    ++at;
    if (!place.is_reserved) continue;
    TellPlace(EventKind::kCancelled, place, now);
    RemovePlace(place, Cause::kRequest);
  }
}

}  // namespace fairlock::engine
