// Holds, places and watchers: how they begin, change and end.

#include <algorithm>
#include <cassert>

#include "server/engine/faults.h"
#include "server/engine/lock_engine.h"

namespace fairlock::engine {

Token LockEngine::NextToken() {
  if (IsFaulty(Fault::kTokenReuse) && next_token_ % 7 == 0 && counts_.newest_token != 0) {
    ++next_token_;
    return counts_.newest_token;
  }
  assert(next_token_ <= kTokenMax);
  counts_.newest_token = next_token_;
  return next_token_++;
}

bool LockEngine::HasRoom(const LockEntry& lock, std::uint32_t limit) const {
  const std::size_t holds = lock.hold_count();
  if (holds == 0) return true;
  if (IsFaulty(Fault::kDoubleGrant) && limit == 1 && next_token_ % 5 == 0) return true;
  if (holds >= limit) return false;
  if (IsFaulty(Fault::kLimitIgnoresHolders)) return true;
  return lock.detail != nullptr && holds < lock.detail->limits.smallest();
}

bool LockEngine::IsTurnOf(const LockEntry& lock, const Claim& place, std::uint32_t limit) const {
  return &lock.detail->line.front() == &place && HasRoom(lock, limit);
}

DenialReason LockEngine::ReasonFor(const LockEntry& lock, std::uint32_t limit) const {
  return HasRoom(lock, limit) ? DenialReason::kLine : DenialReason::kHeld;
}

void LockEngine::StartHold(Hold& hold, DurationMs lease_ms, TimeMs now) {
  hold.token = NextToken() & kTokenMax;
  hold.since = static_cast<std::uint64_t>(now) & ((1ULL << 44) - 1);
  hold.lease_ms = static_cast<std::uint64_t>(lease_ms) & ((1ULL << 36) - 1);
  wheel_.Schedule(hold, now + lease_ms - (IsFaulty(Fault::kEarlyExpiry) ? 1 : 0),
                  TimerClass::kLease);
  ++counts_.granted;
  ++counts_.holds;
}

void LockEngine::EndHold(std::uint64_t hash, LockEntry& lock, Hold& hold, HoldEnd end, TimeMs now) {
  RecentKey& recent = recent_.Touch(hash);
  ++recent.ended;
  recent.NoteHold(now - static_cast<TimeMs>(hold.since));
  switch (end) {
    case HoldEnd::kReleased:
      ++counts_.released;
      break;
    case HoldEnd::kExpired:
      ++counts_.expired;
      ++recent.expired;
      break;
    case HoldEnd::kBroken:
      ++counts_.broken;
      break;
    case HoldEnd::kTransferred:
      break;
  }
  --counts_.holds;
  if (lock.detail != nullptr) lock.detail->limits.Remove(LimitOf(hold));
  if (hold.is_claim()) {
    auto& claim = static_cast<Claim&>(hold);
    lock.detail->holds.erase(lock.detail->holds.iterator_to(claim));
    DestroyClaim(claim);
    return;
  }
  wheel_.Cancel(hold);
  clients_.DropUse(hold.client);
  labels_.DropUse(hold.label);
  hold.label = kNoLabel;
  hold.token = 0;
}

Claim& LockEngine::CreateClaim(LockEntry& lock, const LockRequest& request, ClientRef client) {
  Claim& claim = table_.CreateClaim(lock, request.owner);
  ApplyOptions(claim, request, client);
  return claim;
}

void LockEngine::ApplyOptions(Claim& claim, const LockRequest& request, ClientRef client) {
  claim.limit = request.limit.value_or(1);
  claim.meta = request.meta ? std::make_unique<std::string>(*request.meta) : nullptr;
  labels_.DropUse(claim.label);
  claim.label = labels_.Use(request.label.value_or("")) & kLabelRefMax;
  clients_.AddUse(client);
  clients_.DropUse(claim.client);
  claim.client = client & kClientRefMax;
  claim.lease_ms = static_cast<std::uint64_t>(LeaseOf(request)) & ((1ULL << 36) - 1);
}

void LockEngine::DestroyClaim(Claim& claim) {
  wheel_.Cancel(claim);
  clients_.DropUse(claim.client);
  labels_.DropUse(claim.label);
  table_.DestroyClaim(claim);
}

void LockEngine::AddHold(Claim& claim, DurationMs lease_ms, TimeMs now) {
  LockDetail& detail = claim.lock.NeedDetail();
  claim.BecomeHold();
  StartHold(claim, lease_ms, now);
  detail.due_min = std::min(detail.due_min, claim.deadline());
  detail.limits.Add(claim.limit);
  detail.holds.push_back(claim);
}

Claim& LockEngine::MovePlainHoldToClaim(LockEntry& lock) {
  LockDetail& detail = lock.NeedDetail();
  Hold& plain = lock.plain;
  Claim& claim = table_.CreateClaim(lock, lock.plain_owner());
  claim.BecomeHold();
  claim.token = plain.token;
  claim.since = plain.since;
  claim.client = plain.client;
  claim.lease_ms = plain.lease_ms;
  claim.label = plain.label;
  ScheduleMember(detail, claim, plain.deadline(), TimerClass::kLease);
  detail.holds.push_front(claim);
  wheel_.Cancel(plain);
  plain.label = kNoLabel;
  plain.token = 0;
  return claim;
}

void LockEngine::JoinLine(Claim& place, const LockRequest& request, Attachment& from, TimeMs now) {
  LockDetail& detail = place.lock.NeedDetail();
  place.arrival = next_arrival_++;
  place.number = detail.next_number++;
  place.since = static_cast<std::uint64_t>(now) & ((1ULL << 44) - 1);
  if (IsFaulty(Fault::kLifo)) {
    detail.line.push_front(place);
  } else {
    detail.line.push_back(place);
  }
  ++counts_.places;
  Await(place, request.wait_ms, from, now);
}

void LockEngine::Await(Claim& place, DurationMs wait_ms, Attachment& from, TimeMs now) {
  place.attachment = &from;
  from.pending.push_back(place);
  const TimeMs end = IsFaulty(Fault::kLostTimeout) ? kNever : std::min(now + wait_ms, kNever);
  ScheduleMember(*place.lock.detail, place, end, TimerClass::kWait);
}

void LockEngine::LeaveLine(Claim& place) {
  LockDetail& detail = *place.lock.detail;
  detail.line.erase(detail.line.iterator_to(place));
  wheel_.Cancel(place);
  --counts_.places;
}

void LockEngine::GrantPlace(Claim& place, TimeMs now) {
  RecentKey& recent = recent_.Touch(table_.HashOf(place.lock.key()));
  ++recent.granted_after_wait;
  recent.NoteWait(now - static_cast<TimeMs>(place.since));
  ++counts_.granted_after_wait;
  LeaveLine(place);
  AddHold(place, static_cast<DurationMs>(place.lease_ms), now);
}

void LockEngine::Answer(Pending& pending, ResolutionKind kind, Token token, Effects& effects) {
  if (pending.attachment == nullptr) return;
  Attachment& to = *pending.attachment;
  to.pending.erase(to.pending.iterator_to(pending));
  pending.attachment = nullptr;
  if (IsFaulty(Fault::kSilentSupersede) && kind == ResolutionKind::kSuperseded) return;
  effects.resolutions.push_back({&to, kind, token});
}

void LockEngine::Serve(LockEntry& lock, TimeMs now, Effects& effects) {
  if (lock.detail == nullptr) return;
  ServeLine(lock, now, effects);
  ServeWatchers(lock, effects);
}

void LockEngine::ServeLine(LockEntry& lock, TimeMs now, Effects& effects) {
  LockDetail& detail = *lock.detail;
  while (!detail.line.empty() && HasRoom(lock, detail.line.front().limit)) {
    Claim& place = detail.line.front();
    GrantPlace(place, now);
    Answer(place, ResolutionKind::kGranted, place.token, effects);
  }
}

void LockEngine::ServeWatchers(LockEntry& lock, Effects& effects) {
  LockDetail& detail = *lock.detail;
  Token oldest = kTokenMax;
  if (lock.has_plain_hold()) {
    oldest = lock.plain.token;
  } else if (!detail.holds.empty()) {
    oldest = detail.holds.front().token;
  }
  if (IsFaulty(Fault::kWatchTooEarly)) oldest = kTokenMax;
  while (!detail.watchers.empty() && detail.watchers.front().newest_token < oldest) {
    Watcher& watcher = detail.watchers.front();
    Answer(watcher, ResolutionKind::kWatchEnded, 0, effects);
    DestroyWatcher(watcher);
  }
}

void LockEngine::DestroyWatcher(Watcher& watcher) {
  if (watcher.attachment != nullptr) {
    auto& pending = watcher.attachment->pending;
    pending.erase(pending.iterator_to(watcher));
  }
  wheel_.Cancel(watcher);
  auto& watchers = watcher.lock.detail->watchers;
  watchers.erase(watchers.iterator_to(watcher));
  --counts_.watchers;
  delete &watcher;
}

bool LockEngine::Discard(std::uint64_t hash, LockEntry& lock) {
  if (lock.detail != nullptr && lock.detail->empty()) lock.detail.reset();
  if (lock.has_plain_hold() || lock.detail != nullptr) return false;
  --counts_.locks;
  --locks_by_db_[lock.key().db];
  table_.Destroy(hash, lock);
  return true;
}

void LockEngine::Detach(Attachment& attachment, TimeMs now, Effects& effects) {
  while (!attachment.pending.empty()) {
    Pending& pending = attachment.pending.front();
    attachment.pending.pop_front();
    pending.attachment = nullptr;
    if (pending.pending_kind == PendingKind::kWatcher) {
      auto& watcher = static_cast<Watcher&>(pending);
      LockEntry& lock = watcher.lock;
      DestroyWatcher(watcher);
      Discard(table_.HashOf(lock.key()), lock);
      continue;
    }
    auto& place = static_cast<Claim&>(pending);
    LockEntry& lock = place.lock;
    if (IsFaulty(Fault::kGhostPlace)) continue;
    LeaveLine(place);
    DestroyClaim(place);
    const std::uint64_t hash = table_.HashOf(lock.key());
    // The place goes before anything overdue is done: a dead waiter must not be granted.
    if (LockEntry* settled = Settle(hash, lock, now, effects)) {
      Serve(*settled, now, effects);
      Discard(hash, *settled);
    }
  }
}

void LockEngine::EndWaits(Attachment& attachment, TimeMs now, Effects& effects) {
  while (!attachment.pending.empty()) {
    Pending& pending = attachment.pending.front();
    const bool is_watcher = pending.pending_kind == PendingKind::kWatcher;
    TimerNode& node = is_watcher ? static_cast<TimerNode&>(static_cast<Watcher&>(pending))
                                 : static_cast<TimerNode&>(static_cast<Claim&>(pending));
    LockEntry& lock = LockOf(node);
    const std::uint64_t hash = table_.HashOf(lock.key());
    // What is overdue may have given it the lock, or ended its wait: then it is gone from the list.
    const bool is_there = Settle(hash, lock, now, effects) != nullptr;
    if (!is_there || attachment.pending.empty() || &attachment.pending.front() != &pending)
      continue;
    EndDue(node, now, effects);
    Discard(hash, lock);
  }
}

}  // namespace fairlock::engine
