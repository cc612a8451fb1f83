#include <algorithm>
#include <cassert>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

Token Holds::NextToken() {
  assert(state_.next_token <= kTokenMax);
  assert(!state_.is_frozen);
  state_.counts.newest_token = state_.next_token;
  return state_.next_token++;
}

Hold* Holds::Find(LockEntry& lock, std::string_view owner, std::optional<Token> token) const {
  Hold* hold = nullptr;
  if (lock.has_plain_hold() && lock.plain_owner() == owner) {
    hold = &lock.plain;
  } else if (lock.contended != nullptr) {
    Claim* claim = state_.table.FindClaim(lock, owner);
    if (claim != nullptr && !claim->is_place()) hold = claim;
  }
  if (hold != nullptr && token && *token != hold->token) return nullptr;
  return hold;
}

void Holds::Start(Hold& hold, Token token, TimeMs lease_end, TimeMs now) {
  hold.token = token & kTokenMax;
  hold.SetSince(now);
  state_.wheel.Schedule(hold, lease_end, TimerClass::kLease);
  ++state_.counts.granted;
  ++state_.counts.holds;
}

void Holds::Add(Claim& claim, Token token, Attachment* to, TimeMs now) {
  ContendedLock& contended = claim.lock.NeedContended();
  claim.SetState(ClaimState::kHeld);
  claim.is_touched = false;
  const TimeMs lease_end =
      claim.lease_ms == 0 ? kNever : now + static_cast<DurationMs>(claim.lease_ms);
  Start(claim, token, lease_end, now);
  if (claim.extras != nullptr) {
    claim.extras->lease_end = lease_end;
    const DurationMs min_hold_ms = claim.extras->terms.min_hold_ms;
    claim.extras->cool_until = min_hold_ms > 0 ? std::min(now + min_hold_ms, kNever) : 0;
  }
  contended.due_min = std::min(contended.due_min, claim.deadline());
  contended.slots.Take(claim.mode);
  contended.holds.push_back(claim);
  if (to == nullptr || !claim.has_session()) return;
  NotifyChannel* channel = claim.channel();
  Bind(claim, channel != nullptr ? static_cast<Attachment&>(*channel) : *to);
}

TimeMs Holds::LeaseEndOf(const Hold& hold) {
  if (hold.is_claim()) {
    const auto& claim = static_cast<const Claim&>(hold);
    if (claim.has_session()) return claim.extras->lease_end;
  }
  return hold.deadline();
}

void Holds::SetLeaseEnd(ContendedLock& contended, Claim& hold, TimeMs end) {
  if (hold.extras != nullptr) hold.extras->lease_end = end;
  state_.ScheduleMember(contended, hold, end, TimerClass::kLease);
}

void Holds::Bind(Claim& hold, Attachment& to) {
  Unbind(hold);
  hold.attachment = &to;
  to.sessions.push_back(hold);
}

void Holds::Unbind(Claim& hold) {
  if (hold.attachment == nullptr) return;
  auto& sessions = hold.attachment->sessions;
  sessions.erase(sessions.iterator_to(hold));
  hold.attachment = nullptr;
}

void Holds::CountEnd(HoldEnd end, RecentKey& recent) {
  switch (end) {
    case HoldEnd::kReleased:
      ++state_.counts.released;
      break;
    case HoldEnd::kExpired:
      ++state_.counts.expired;
      ++recent.expired;
      break;
    case HoldEnd::kDisconnected:
      ++state_.counts.disconnected;
      break;
    case HoldEnd::kBroken:
      ++state_.counts.broken;
      break;
    case HoldEnd::kTransferred:
    case HoldEnd::kUndone:
      break;
  }
}

void Holds::End(std::uint64_t hash, LockEntry& lock, Hold& hold, HoldEnd end, TimeMs now) {
  RecentKey& recent = state_.recent.Touch(hash);
  ++recent.ended;
  recent.NoteHold(now - static_cast<TimeMs>(hold.since));
  CountEnd(end, recent);
  if (end != HoldEnd::kTransferred) rules_.events.Emit(EventOf(end), hash, lock, hold, now);
  --state_.counts.holds;
  state_.LogHoldEnd(lock, hold);
  if (lock.contended != nullptr) lock.contended->slots.Free(ModeOf(hold));
  if (hold.is_claim()) {
    auto& claim = static_cast<Claim&>(hold);
    const bool is_lost = claim.channel() != nullptr && end != HoldEnd::kReleased;
    if (is_lost) rules_.events.SendLoss(claim, end, now);
    Unbind(claim);
    lock.contended->holds.erase(claim);
    Cooldowns::Begin(state_, claim, end, now);
    Claims::Destroy(state_, claim);
    return;
  }
  state_.wheel.Cancel(hold);
  state_.clients.DropUse(hold.client);
  state_.labels.DropUse(hold.label);
  hold.label = kNoLabel;
  hold.token = 0;
  hold.set_remaining_stored(false);
}

void Holds::Confirm(Claim& hold) {
  hold.is_touched = true;
  if (MultiLock* multi_lock = hold.multi_lock()) multi_lock->is_touched = true;
}

const Hold* Holds::FindToken(const LockEntry& lock, Token token) {
  if (token == 0) return nullptr;
  if (lock.plain.token == token) return &lock.plain;
  if (lock.contended == nullptr) return nullptr;
  return lock.contended->holds.Find(token);
}

void Cooldowns::Begin(EngineState& state, const Claim& claim, HoldEnd end, TimeMs now) {
  const bool is_spared =
      end == HoldEnd::kTransferred || end == HoldEnd::kBroken || end == HoldEnd::kUndone;
  if (is_spared || claim.extras == nullptr || claim.extras->cool_until == 0) return;
  // Like every deadline, the end of MINHOLD has passed only when its whole tick has passed.
  if (claim.extras->cool_until < now) return;
  ContendedLock& contended = *claim.lock.contended;
  auto* cooldown = new Cooldown(claim.lock, claim.mode, claim.token, claim.rank());
  contended.slots.Take(cooldown->mode);
  contended.cooldowns.push_back(*cooldown);
  ++state.counts.cooldowns;
  state.ScheduleMember(contended, *cooldown, claim.extras->cool_until, TimerClass::kCooling);
  if (state.changes != nullptr) {
    state.changes->cooling.push_back({state.table.HashOf(claim.lock.key()), cooldown->token});
  }
}

void Cooldowns::End(EngineState& state, Cooldown& cooldown) {
  ContendedLock& contended = *cooldown.lock.contended;
  if (state.changes != nullptr && cooldown.is_stored) {
    const KeyName key = cooldown.lock.key();
    state.changes->NoteEnd(ChangeLog::Kind::kCooling, cooldown.token, key.db, key.bytes);
  }
  state.wheel.Cancel(cooldown);
  contended.slots.Free(cooldown.mode);
  contended.cooldowns.erase(contended.cooldowns.iterator_to(cooldown));
  --state.counts.cooldowns;
  delete &cooldown;
}

}  // namespace fairlock::engine
