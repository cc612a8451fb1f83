// Holds: how they begin, are bound to connections, cool and end.

#include <algorithm>
#include <cassert>

#include "server/engine/faults.h"
#include "server/engine/lock_core.h"

namespace fairlock::engine {

Token LockCore::NextToken() {
  if (IsFaulty(Fault::kTokenReuse) && next_token_ % 7 == 0 && counts_.newest_token != 0) {
    ++next_token_;
    return counts_.newest_token;
  }
  assert(next_token_ <= kTokenMax);
  counts_.newest_token = next_token_;
  return next_token_++;
}

Hold* LockCore::FindHold(LockEntry& lock, std::string_view owner,
                         std::optional<Token> token) const {
  Hold* hold = nullptr;
  if (lock.has_plain_hold() && lock.plain_owner() == owner) {
    hold = &lock.plain;
  } else if (lock.detail != nullptr) {
    Claim* claim = table_.FindClaim(lock, owner);
    if (claim != nullptr && !claim->is_place()) hold = claim;
  }
  if (hold != nullptr && token && *token != hold->token) return nullptr;
  return hold;
}

void LockCore::StartHold(Hold& hold, TimeMs lease_end, TimeMs now) {
  hold.token = NextToken() & kTokenMax;
  hold.SetSince(now);
  if (IsFaulty(Fault::kEarlyExpiry) && lease_end < kNever) --lease_end;
  wheel_.Schedule(hold, lease_end, TimerClass::kLease);
  ++counts_.granted;
  ++counts_.holds;
}

void LockCore::AddHold(Claim& claim, Attachment* to, TimeMs now) {
  LockDetail& detail = claim.lock.NeedDetail();
  claim.SetState(ClaimState::kHeld);
  claim.is_touched = false;
  const TimeMs lease_end =
      claim.lease_ms == 0 ? kNever : now + static_cast<DurationMs>(claim.lease_ms);
  StartHold(claim, lease_end, now);
  if (claim.extras != nullptr) {
    claim.extras->lease_end = lease_end;
    const DurationMs min_hold_ms = claim.extras->min_hold_ms;
    claim.extras->cool_until = min_hold_ms > 0 ? std::min(now + min_hold_ms, kNever) : 0;
  }
  detail.due_min = std::min(detail.due_min, claim.deadline());
  detail.rooms.Take(claim.mode);
  detail.holds.push_back(claim);
  if (to != nullptr && claim.has_session()) Bind(claim, *to);
}

TimeMs LockCore::LeaseEndOf(const Hold& hold) {
  if (hold.is_claim()) {
    const auto& claim = static_cast<const Claim&>(hold);
    if (claim.has_session()) return claim.extras->lease_end;
  }
  return hold.deadline();
}

void LockCore::SetLeaseEnd(LockDetail& detail, Claim& hold, TimeMs end) {
  if (hold.extras != nullptr) hold.extras->lease_end = end;
  ScheduleMember(detail, hold, end, TimerClass::kLease);
}

void LockCore::Bind(Claim& hold, Attachment& to) {
  Unbind(hold);
  hold.attachment = &to;
  to.sessions.push_back(hold);
}

void LockCore::Unbind(Claim& hold) {
  if (hold.attachment == nullptr) return;
  auto& sessions = hold.attachment->sessions;
  sessions.erase(sessions.iterator_to(hold));
  hold.attachment = nullptr;
}

void LockCore::Note(HoldEnd end, RecentKey& recent) {
  switch (end) {
    case HoldEnd::kReleased:
      ++counts_.released;
      break;
    case HoldEnd::kExpired:
      ++counts_.expired;
      ++recent.expired;
      break;
    case HoldEnd::kDisconnected:
      ++counts_.disconnected;
      break;
    case HoldEnd::kBroken:
      ++counts_.broken;
      break;
    case HoldEnd::kTransferred:
    case HoldEnd::kUndone:
      break;
  }
}

void LockCore::EndHold(std::uint64_t hash, LockEntry& lock, Hold& hold, HoldEnd end, TimeMs now) {
  RecentKey& recent = recent_.Touch(hash);
  ++recent.ended;
  recent.NoteHold(now - static_cast<TimeMs>(hold.since));
  Note(end, recent);
  if (end != HoldEnd::kTransferred) Tell(EventOf(end), hash, lock, hold, now);
  --counts_.holds;
  if (lock.detail != nullptr) lock.detail->rooms.Free(ModeOf(hold));
  if (hold.is_claim()) {
    auto& claim = static_cast<Claim&>(hold);
    Unbind(claim);
    lock.detail->holds.erase(lock.detail->holds.iterator_to(claim));
    Cool(claim, end, now);
    DestroyClaim(claim);
    return;
  }
  wheel_.Cancel(hold);
  clients_.DropUse(hold.client);
  labels_.DropUse(hold.label);
  hold.label = kNoLabel;
  hold.token = 0;
}

void LockCore::Cool(const Claim& claim, HoldEnd end, TimeMs now) {
  const bool is_spared = end == HoldEnd::kTransferred ||
                         (end == HoldEnd::kBroken && !IsFaulty(Fault::kBreakCools)) ||
                         (end == HoldEnd::kUndone && !IsFaulty(Fault::kUndoCools));
  if (is_spared || claim.extras == nullptr || claim.extras->cool_until == 0) return;
  // Like every time it is over only when its tick has passed whole.
  if (claim.extras->cool_until < now) return;
  if (IsFaulty(Fault::kNoCooling)) return;
  LockDetail& detail = *claim.lock.detail;
  auto* room = new CoolingRoom(claim.lock, claim.mode, claim.token);
  detail.rooms.Take(room->mode);
  detail.cooling.push_back(*room);
  ++counts_.cooling;
  ScheduleMember(detail, *room, claim.extras->cool_until, TimerClass::kCooling);
}

void LockCore::EndCooling(CoolingRoom& room) {
  LockDetail& detail = *room.lock.detail;
  wheel_.Cancel(room);
  detail.rooms.Free(room.mode);
  detail.cooling.erase(detail.cooling.iterator_to(room));
  --counts_.cooling;
  delete &room;
}

DurationMs LockCore::LeaseOf(const LockRequest& request) const {
  return request.lease_ms.value_or(request.session_grace_ms ? 0 : options_.default_lease_ms);
}

Claim& LockCore::CreateClaim(LockEntry& lock, const LockRequest& request, ClientRef client) {
  Claim& claim = table_.CreateClaim(lock, request.owner);
  ApplyOptions(claim, request, client);
  return claim;
}

void LockCore::ApplyOptions(Claim& claim, const LockRequest& request, ClientRef client) {
  claim.mode = request.mode();
  claim.keep_ms = static_cast<std::uint32_t>(request.keep_ms);
  claim.extras.reset();
  if (request.meta) claim.NeedExtras().meta = std::string(*request.meta);
  if (request.session_grace_ms) claim.NeedExtras().session_grace_ms = request.session_grace_ms;
  if (request.min_hold_ms > 0) claim.NeedExtras().min_hold_ms = request.min_hold_ms;
  labels_.DropUse(claim.label);
  claim.label = labels_.Use(request.label.value_or("")) & kLabelRefMax;
  SetClient(claim, client);
  claim.SetLeaseMs(LeaseOf(request));
}

void LockCore::SetClient(Hold& hold, ClientRef client) {
  clients_.AddUse(client);
  clients_.DropUse(hold.client);
  hold.client = client & kClientRefMax;
}

void LockCore::DestroyClaim(Claim& claim) {
  wheel_.Cancel(claim);
  clients_.DropUse(claim.client);
  labels_.DropUse(claim.label);
  table_.DestroyClaim(claim);
}

Claim& LockCore::MovePlainHoldToClaim(LockEntry& lock) {
  LockDetail& detail = lock.NeedDetail();
  auto& plain = lock.plain;
  Claim& claim = table_.CreateClaim(lock, lock.plain_owner());
  claim.SetState(ClaimState::kHeld);
  claim.is_touched = plain.is_touched();
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

bool LockCore::Discard(std::uint64_t hash, LockEntry& lock) {
  if (lock.detail != nullptr && lock.detail->empty()) lock.detail.reset();
  if (lock.has_plain_hold() || lock.detail != nullptr) return false;
  --counts_.locks;
  --locks_by_db_[lock.key().db];
  table_.Destroy(hash, lock);
  return true;
}

bool LockCore::UndoGrant(std::uint64_t key_hash, Token token, TimeMs now, Effects& effects) {
  EndOverrides(now);
  LockEntry* lock = table_.FindByHash(
      key_hash, [&](const LockEntry& entry) { return FindToken(entry, token) != nullptr; });
  if (lock == nullptr) return false;
  Hold& hold = const_cast<Hold&>(*FindToken(*lock, token));
  if (!hold.is_claim()) {
    if (lock->plain.is_touched()) return false;
    EndHold(key_hash, *lock, hold, HoldEnd::kUndone, now);
  } else {
    auto& claim = static_cast<Claim&>(hold);
    if (claim.is_touched) return false;
    if (claim.arrival != 0) {
      ReturnToLine(claim, now);
    } else {
      EndHold(key_hash, *lock, hold, HoldEnd::kUndone, now);
    }
  }
  // The place is absent before anything overdue is done: a dead waiter must not be granted.
  if (LockEntry* settled = Settle(key_hash, *lock, now, effects)) {
    Serve(*settled, now, effects);
    Discard(key_hash, *settled);
  }
  return true;
}

const Hold* LockCore::FindToken(const LockEntry& lock, Token token) {
  if (token == 0) return nullptr;
  if (lock.plain.token == token) return &lock.plain;
  if (lock.detail == nullptr) return nullptr;
  const auto& holds = lock.detail->holds;
  const auto found = std::find_if(holds.begin(), holds.end(),
                                  [&](const Claim& claim) { return claim.token == token; });
  return found == holds.end() ? nullptr : &*found;
}

void LockCore::Detach(Attachment& attachment, TimeMs now, Effects& effects) {
  EndOverrides(now);
  while (!attachment.pending.empty()) {
    Pending& pending = attachment.pending.front();
    attachment.pending.pop_front();
    pending.attachment = nullptr;
    LockEntry* lock = nullptr;
    if (pending.pending_kind == PendingKind::kWatcher) {
      lock = &static_cast<Watcher&>(pending).lock;
      DestroyWatcher(static_cast<Watcher&>(pending));
    } else {
      lock = &static_cast<Claim&>(pending).lock;
      LoseRequest(static_cast<Claim&>(pending), now);
    }
    AfterDetach(*lock, now, effects);
  }
  while (!attachment.sessions.empty()) {
    auto& hold = static_cast<Claim&>(attachment.sessions.front());
    LockEntry& lock = hold.lock;
    Unbind(hold);
    const DurationMs grace_ms = *hold.extras->session_grace_ms;
    if (grace_ms > 0 && !IsFaulty(Fault::kNoSessionGrace)) {
      ScheduleMember(*lock.detail, hold, std::min(hold.extras->lease_end, now + grace_ms),
                     TimerClass::kLease);
    } else if (!IsFaulty(Fault::kSessionSurvives)) {
      EndHold(table_.HashOf(lock.key()), lock, hold, HoldEnd::kDisconnected, now);
    }
    AfterDetach(lock, now, effects);
  }
}

void LockCore::AfterDetach(LockEntry& lock, TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(lock.key());
  if (LockEntry* settled = Settle(hash, lock, now, effects)) {
    Serve(*settled, now, effects);
    Discard(hash, *settled);
  }
}

}  // namespace fairlock::engine
