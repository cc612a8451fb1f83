// Holds: how they begin, are bound to connections, cool and end.

#include "server/engine/lock_holds.h"

#include <algorithm>
#include <cassert>

namespace fairlock::engine {

LockHolds::LockHolds(const EngineOptions& options)
    : options_(options),
      channels_(options.hash_seed),
      table_(options.hash_seed),
      next_token_(options.first_token),
      locks_bound_(options.locks_max) {
  assert(next_token_ > 0);
}

Token LockHolds::NextToken() {
  assert(next_token_ <= kTokenMax);
  assert(!is_frozen_);
  counts_.newest_token = next_token_;
  return next_token_++;
}

Hold* LockHolds::FindHold(LockEntry& lock, std::string_view owner,
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

void LockHolds::StartHold(Hold& hold, Token token, TimeMs lease_end, TimeMs now) {
  hold.token = token & kTokenMax;
  hold.SetSince(now);
  wheel_.Schedule(hold, lease_end, TimerClass::kLease);
  ++counts_.granted;
  ++counts_.holds;
}

void LockHolds::AddHold(Claim& claim, Token token, Attachment* to, TimeMs now) {
  LockDetail& detail = claim.lock.NeedDetail();
  claim.SetState(ClaimState::kHeld);
  claim.is_touched = false;
  const TimeMs lease_end =
      claim.lease_ms == 0 ? kNever : now + static_cast<DurationMs>(claim.lease_ms);
  StartHold(claim, token, lease_end, now);
  if (claim.extras != nullptr) {
    claim.extras->lease_end = lease_end;
    const DurationMs min_hold_ms = claim.extras->min_hold_ms;
    claim.extras->cool_until = min_hold_ms > 0 ? std::min(now + min_hold_ms, kNever) : 0;
  }
  detail.due_min = std::min(detail.due_min, claim.deadline());
  detail.rooms.Take(claim.mode);
  detail.holds.push_back(claim);
  if (to == nullptr || !claim.has_session()) return;
  NotifyChannel* channel = claim.channel();
  Bind(claim, channel != nullptr ? static_cast<Attachment&>(*channel) : *to);
}

TimeMs LockHolds::LeaseEndOf(const Hold& hold) {
  if (hold.is_claim()) {
    const auto& claim = static_cast<const Claim&>(hold);
    if (claim.has_session()) return claim.extras->lease_end;
  }
  return hold.deadline();
}

void LockHolds::SetLeaseEnd(LockDetail& detail, Claim& hold, TimeMs end) {
  if (hold.extras != nullptr) hold.extras->lease_end = end;
  ScheduleMember(detail, hold, end, TimerClass::kLease);
}

void LockHolds::Bind(Claim& hold, Attachment& to) {
  Unbind(hold);
  hold.attachment = &to;
  to.sessions.push_back(hold);
}

void LockHolds::Unbind(Claim& hold) {
  if (hold.attachment == nullptr) return;
  auto& sessions = hold.attachment->sessions;
  sessions.erase(sessions.iterator_to(hold));
  hold.attachment = nullptr;
}

void LockHolds::Note(HoldEnd end, RecentKey& recent) {
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

void LockHolds::EndHold(std::uint64_t hash, LockEntry& lock, Hold& hold, HoldEnd end, TimeMs now) {
  RecentKey& recent = recent_.Touch(hash);
  ++recent.ended;
  recent.NoteHold(now - static_cast<TimeMs>(hold.since));
  Note(end, recent);
  if (end != HoldEnd::kTransferred) Tell(EventOf(end), hash, lock, hold, now);
  --counts_.holds;
  NoteHoldEnd(lock, hold);
  if (lock.detail != nullptr) lock.detail->rooms.Free(ModeOf(hold));
  if (hold.is_claim()) {
    auto& claim = static_cast<Claim&>(hold);
    const bool is_lost = claim.channel() != nullptr && end != HoldEnd::kReleased;
    if (is_lost) TellLoss(claim, end, now);
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
  hold.set_left_kept(false);
}

void LockHolds::Cool(const Claim& claim, HoldEnd end, TimeMs now) {
  const bool is_spared =
      end == HoldEnd::kTransferred || end == HoldEnd::kBroken || end == HoldEnd::kUndone;
  if (is_spared || claim.extras == nullptr || claim.extras->cool_until == 0) return;
  // Like every time it is over only when its tick has passed whole.
  if (claim.extras->cool_until < now) return;
  LockDetail& detail = *claim.lock.detail;
  auto* room = new CoolingRoom(claim.lock, claim.mode, claim.token, claim.rank());
  detail.rooms.Take(room->mode);
  detail.cooling.push_back(*room);
  ++counts_.cooling;
  ScheduleMember(detail, *room, claim.extras->cool_until, TimerClass::kCooling);
  if (changes_ != nullptr) {
    changes_->cooling.push_back({table_.HashOf(claim.lock.key()), room->token});
  }
}

void LockHolds::EndCooling(CoolingRoom& room) {
  LockDetail& detail = *room.lock.detail;
  if (changes_ != nullptr && room.is_kept) {
    const KeyName key = room.lock.key();
    changes_->NoteEnd(ChangeLog::Kind::kCooling, room.token, key.db, key.bytes);
  }
  wheel_.Cancel(room);
  detail.rooms.Free(room.mode);
  detail.cooling.erase(detail.cooling.iterator_to(room));
  --counts_.cooling;
  delete &room;
}

DurationMs LockHolds::LeaseOf(const LockRequest& request) const {
  return request.lease_ms.value_or(request.session_grace_ms ? 0 : options_.default_lease_ms);
}

Claim& LockHolds::CreateClaim(LockEntry& lock, const LockRequest& request, ClientRef client) {
  Claim& claim = table_.CreateClaim(lock, request.owner);
  ApplyOptions(claim, request, client);
  return claim;
}

void LockHolds::ApplyOptions(Claim& claim, const LockRequest& request, ClientRef client) {
  claim.mode = request.mode();
  claim.keep_ms = static_cast<std::uint32_t>(request.keep_ms);
  claim.set_redis_way(request.is_redis_way);
  Group* group = claim.group();
  const std::uint8_t rank = claim.rank();
  claim.extras.reset();
  if (group != nullptr) {
    claim.NeedExtras().group = group;
    claim.extras->rank = rank;
  }
  if (request.meta) claim.NeedExtras().meta = std::make_shared<const std::string>(*request.meta);
  if (request.session_grace_ms) claim.NeedExtras().session_grace_ms = request.session_grace_ms;
  if (request.min_hold_ms > 0) claim.NeedExtras().min_hold_ms = request.min_hold_ms;
  if (request.notify) claim.NeedExtras().channel = channels_.Need(*request.notify);
  labels_.DropUse(claim.label);
  claim.label = labels_.Use(LabelOf(request, claim.lock.key().bytes)) & kLabelRefMax;
  SetClient(claim, client);
  claim.SetLeaseMs(LeaseOf(request));
}

void LockHolds::SetClient(Hold& hold, ClientRef client) {
  clients_.AddUse(client);
  clients_.DropUse(hold.client);
  hold.client = client & kClientRefMax;
}

void LockHolds::DestroyClaim(Claim& claim) {
  if (claim.group() != nullptr) DropFromGroup(claim);
  wheel_.Cancel(claim);
  clients_.DropUse(claim.client);
  labels_.DropUse(claim.label);
  table_.DestroyClaim(claim);
}

Claim& LockHolds::MovePlainHoldToClaim(LockEntry& lock) {
  LockDetail& detail = lock.NeedDetail();
  auto& plain = lock.plain;
  Claim& claim = table_.CreateClaim(lock, lock.plain_owner());
  claim.SetState(ClaimState::kHeld);
  claim.is_touched = plain.is_touched();
  claim.mode = plain.mode();
  if (const auto meta = lock.plain_meta()) {
    claim.NeedExtras().meta = std::make_shared<const std::string>(*meta);
  }
  claim.token = plain.token;
  claim.since = plain.since;
  claim.client = plain.client;
  claim.lease_ms = plain.lease_ms;
  claim.label = plain.label;
  claim.set_left_kept(plain.is_left_kept());
  claim.set_redis_way(plain.is_redis_way());
  ScheduleMember(detail, claim, plain.deadline(), TimerClass::kLease);
  detail.holds.push_front(claim);
  wheel_.Cancel(plain);
  plain.label = kNoLabel;
  plain.token = 0;
  plain.set_left_kept(false);
  return claim;
}

void LockHolds::Confirm(Claim& hold) {
  hold.is_touched = true;
  if (Group* group = hold.group()) group->is_touched = true;
}

const Hold* LockHolds::FindToken(const LockEntry& lock, Token token) {
  if (token == 0) return nullptr;
  if (lock.plain.token == token) return &lock.plain;
  if (lock.detail == nullptr) return nullptr;
  const auto& holds = lock.detail->holds;
  // From the newest on: it is nearly always asked for.
  const auto found = std::find_if(holds.rbegin(), holds.rend(),
                                  [&](const Claim& claim) { return claim.token == token; });
  return found == holds.rend() ? nullptr : &*found;
}

void LockHolds::ScheduleMember(LockDetail& detail, TimerNode& node, TimeMs deadline,
                               TimerClass timer_class) {
  wheel_.Schedule(node, deadline, timer_class);
  detail.due_min = std::min(detail.due_min, deadline);
}

bool LockHolds::Discard(std::uint64_t hash, LockEntry& lock) {
  if (lock.detail != nullptr && lock.detail->empty()) lock.detail.reset();
  if (lock.has_plain_hold() || lock.detail != nullptr) return false;
  --counts_.locks;
  --locks_by_db_[lock.key().db];
  table_.Destroy(hash, lock);
  return true;
}

void LockHolds::DiscardAll(LockSpan locks) {
  for (LockEntry* lock : locks) Discard(table_.HashOf(lock->key()), *lock);
}

void LockHolds::AddToGroup(Group& group, Claim& claim) {
  ClaimExtras& extras = claim.NeedExtras();
  assert(extras.group == nullptr && !group.is_whole());
  extras.group = &group;
  extras.rank = static_cast<std::uint8_t>(group.claims.size());
  group.claims.push_back(&claim);
}

void LockHolds::DropFromGroup(Claim& claim) {
  Group& group = *claim.group();
  claim.extras->group = nullptr;
  group.claims.erase(std::find(group.claims.begin(), group.claims.end(), &claim));
  if (!group.claims.empty()) return;
  assert(group.attachment == nullptr);
  StopGroup(group);
  delete &group;
}

void LockHolds::StartGroup(Group& group, Token token) {
  assert(!group.is_held() && group.is_whole());
  wheel_.Cancel(group);
  group.token = token;
  group.is_touched = false;
  held_groups_.Insert(group);
}

void LockHolds::StopGroup(Group& group) {
  wheel_.Cancel(group);
  if (!group.is_held()) return;
  held_groups_.Erase(group);
  group.token = 0;
}

}  // namespace fairlock::engine
