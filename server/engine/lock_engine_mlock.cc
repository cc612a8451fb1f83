// MLOCK, MRENEW and MUNLOCK: several keys as one.

#include <algorithm>
#include <cassert>

#include "server/engine/lock_engine.h"

namespace fairlock::engine {

void LockEngine::FindNamed(std::span<const KeyName> keys, TimeMs now, Effects& effects) {
  assert(!keys.empty() && keys.size() <= kMlockKeysMax);
  EndOverrides(now);
  named_.assign(keys.size(), {});
  LockList found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    NamedLock& named = named_[i];
    named.name = keys[i];
    named.name.hash = table_.HashOf(keys[i]);
    named.lock = table_.Find(named.name.hash, named.name);
    if (named.lock != nullptr) found.push_back(named.lock);
  }
  if (found.empty() || !IsBehind(now)) return;
  BeginSettling(found, now, effects);
  EndSettling(found);
  DiscardAll(found);
  FindNamedAgain();
}

void LockEngine::FindNamedAgain() {
  for (NamedLock& named : named_) named.lock = table_.Find(named.name.hash, named.name);
}

void LockEngine::DiscardNamed() {
  for (NamedLock& named : named_) {
    if (named.lock != nullptr && Discard(named.name.hash, *named.lock)) named.lock = nullptr;
  }
}

void LockEngine::DropMarks(std::string_view owner) {
  for (NamedLock& named : named_) {
    if (named.lock == nullptr || named.lock->detail == nullptr) continue;
    Claim* claim = table_.FindClaim(*named.lock, owner);
    if (claim == nullptr || claim->state != ClaimState::kMarked) continue;
    RemovePlace(*claim, Cause::kRequest);
    if (Discard(named.name.hash, *named.lock)) named.lock = nullptr;
  }
}

LockEngine::Stake LockEngine::FindStake(std::span<const KeyName> keys, std::string_view owner) {
  Stake stake;
  for (std::size_t i = 0; i < named_.size(); ++i) {
    LockEntry* lock = named_[i].lock;
    if (lock == nullptr) continue;
    const Claim* claim = table_.FindClaim(*lock, owner);
    if (claim != nullptr && claim->group() != nullptr && claim->group()->IsOf(keys)) {
      stake.group = claim->group();
    } else if (claim != nullptr || (lock->has_plain_hold() && lock->plain_owner() == owner)) {
      stake.other = i;
      return stake;
    }
  }
  return stake;
}

LockResult LockEngine::Mlock(const MlockRequest& request, Attachment& from, TimeMs now,
                             Effects& effects) {
  FindNamed(request.keys, now, effects);
  // They are no places yet, and an owner has one claim on a key.
  DropMarks(request.each.owner);
  const Stake stake = FindStake(request.keys, request.each.owner);
  if (stake.other) return {.status = LockStatus::kStakedOtherwise, .key = *stake.other};
  if (stake.group == nullptr) return AskAllAnew(request, from, now, effects);
  if (!stake.group->is_held()) {
    return RepeatWaitingAll(*stake.group, request, from, now, effects);
  }
  if (stake.group->is_whole()) return ReacquireAll(*stake.group, request, from, now);
  ReleaseAll(*stake.group, now, effects);
  return AskAllAnew(request, from, now, effects);
}

LockResult LockEngine::ReacquireAll(const Group& group, const MlockRequest& request,
                                    Attachment& from, TimeMs now) {
  const LockRequest& each = request.each;
  const LockEntry& first = *named_.front().lock;
  if (each.only_new) {
    return Deny(named_.front().name.hash, first, each, from.client, DenialReason::kHeld, now);
  }
  const bool is_covered =
      std::all_of(group.claims.begin(), group.claims.end(),
                  [&](const Claim* claim) { return Covers(claim->mode, each.mode()); });
  if (!is_covered) return {LockStatus::kModeDiffers};
  const bool brings_too_much =
      std::any_of(group.claims.begin(), group.claims.end(),
                  [&](const Claim* claim) { return BringsTooMuch(*claim, each); });
  if (brings_too_much) return {LockStatus::kOutOfMemory};
  for (Claim* claim : group.claims) {
    Reacquire(table_.HashOf(claim->lock.key()), claim->lock, *claim, each, from, now);
  }
  if (each.meta) ShareMeta(group);
  return {LockStatus::kAlready, DenialReason::kNone, group.token, named_.front().name.hash};
}

LockResult LockEngine::RepeatWaitingAll(const Group& group, const MlockRequest& request,
                                        Attachment& from, TimeMs now, Effects& effects) {
  LockResult result = RepeatWaiting(*group.claims.front(), request.each, from, now, effects);
  const bool is_refused =
      result.status == LockStatus::kDenied || result.status == LockStatus::kDeadlock;
  if (request.each.meta && !is_refused) ShareMeta(group);
  if (result.reason == DenialReason::kNone) return result;
  // The order in which the keys are named may be another now.
  const KeyName blocking = group.claims[result.key]->lock.key();
  const auto found = std::find(request.keys.begin(), request.keys.end(), blocking);
  result.key = static_cast<std::size_t>(found - request.keys.begin());
  return result;
}

void LockEngine::ReleaseAll(const Group& group, TimeMs now, Effects& effects) {
  // The last one takes the group along.
  for (std::size_t left = group.claims.size(); left > 0; --left) {
    Claim& hold = *group.claims.front();
    LockEntry& lock = hold.lock;
    const std::uint64_t hash = table_.HashOf(lock.key());
    EndHold(hash, lock, hold, HoldEnd::kReleased, now);
    Serve(lock, now, effects);
    Discard(hash, lock);
  }
  FindNamedAgain();
}

LockResult LockEngine::AskAllAnew(const MlockRequest& request, Attachment& from, TimeMs now,
                                  Effects& effects) {
  if (const auto refusal = WhyNoNewLocks(CountMissing())) return {*refusal};
  NeedDrainedLocks();
  const LockResult result = AskOrJoin(request, from, now, effects);
  // A drained key may have had a lock for the time of the question, and REPLACE may have ended all
  // there was.
  DiscardNamed();
  return result;
}

LockResult LockEngine::AskOrJoin(const MlockRequest& request, Attachment& from, TimeMs now,
                                 Effects& effects) {
  const LockRequest& each = request.each;
  const Mode asked = each.mode();
  auto blocked = FindBlockedKey(asked);
  if (blocked && WaitOf(each) == 0 && each.keep_ms == 0) {
    return DenyAll(request, from.client, *blocked, ReasonFor(*named_[*blocked].lock, asked), now);
  }
  const bool may_be_full = blocked && each.waiters_max;
  if (may_be_full) {
    if (const auto full = FindRefusingLine(each)) {
      return DenyAll(request, from.client, *full, DenialReason::kFull, now);
    }
  }
  if (const auto refusal = WhyNotMore(from.client, named_.size())) return {*refusal};
  if (blocked && WaitOf(each) > 0 && IsDeadlockOfMlock(each, may_be_full, now)) {
    return RefuseDeadlockOfMlock(*blocked, each, from.client, now);
  }
  if (may_be_full) {
    ReplaceNewestOfFullLines(each, now, effects);
    blocked = FindBlockedKey(asked);
    if (blocked && WaitOf(each) > 0 && IsDeadlockOfMlock(each, false, now)) {
      return RefuseDeadlockOfMlock(*blocked, each, from.client, now);
    }
  }
  if (!blocked) return GrantAllAtOnce(request, from, now);
  if (counts_.places + counts_.watchers + named_.size() > options_.places_max) {
    return {LockStatus::kTooManyPlaces};
  }
  const auto full = std::find_if(named_.begin(), named_.end(), [&](const NamedLock& named) {
    return named.lock != nullptr && IsLineAtBound(*named.lock, options_.places_per_key_max);
  });
  if (full != named_.end()) {
    return {.status = LockStatus::kTooManyOnKey,
            .key = static_cast<std::size_t>(full - named_.begin())};
  }
  const DenialReason reason = ReasonFor(*named_[*blocked].lock, asked);
  Claim& place = *MakeClaims(request, from.client).claims.front();
  JoinLine(place, each, from, now);
  TellQueued(place, reason, now);
  return {.status = WaitOf(each) > 0 ? LockStatus::kQueued : LockStatus::kKept,
          .reason = reason,
          .key = *blocked};
}

std::size_t LockEngine::CountMissing() const {
  return static_cast<std::size_t>(std::count_if(
      named_.begin(), named_.end(), [](const NamedLock& named) { return named.lock == nullptr; }));
}

void LockEngine::NeedLock(NamedLock& named) {
  if (named.lock != nullptr) return;
  ++counts_.locks;
  ++locks_by_db_[named.name.db];
  named.lock = &table_.Create(named.name.hash, named.name, {});
  named.lock->NeedDetail();
}

void LockEngine::NeedDrainedLocks() {
  for (NamedLock& named : named_) {
    if (IsDrained(named.name)) NeedLock(named);
  }
}

LockResult LockEngine::GrantAllAtOnce(const MlockRequest& request, Attachment& from, TimeMs now) {
  Group& group = MakeClaims(request, from.client);
  const Token token = NextToken();
  StartGroup(group, token);
  for (Claim* claim : group.claims) {
    const std::uint64_t hash = table_.HashOf(claim->lock.key());
    AddHold(*claim, token, &from, now);
    NoteHold(hash, *claim);
    Tell(EventKind::kGranted, hash, claim->lock, *claim, now);
  }
  return {LockStatus::kGranted, DenialReason::kNone, token, named_.front().name.hash};
}

std::optional<std::size_t> LockEngine::FindBlockedKey(const Mode& mode) const {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const LockEntry* lock = named_[i].lock;
    if (lock != nullptr && !MayPass(*lock, mode)) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> LockEngine::FindRefusingLine(const LockRequest& request) const {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const LockEntry* lock = named_[i].lock;
    if (lock == nullptr) continue;
    const std::size_t places = lock->standing_count();
    if (places == 0 && MayPass(*lock, request.mode())) continue;
    const bool is_replaceable = request.replaces_newest && places > 0;
    if (places >= *request.waiters_max && !is_replaceable) return i;
  }
  return std::nullopt;
}

void LockEngine::ReplaceNewestOfFullLines(const LockRequest& request, TimeMs now,
                                          Effects& effects) {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    LockEntry* lock = named_[i].lock;
    const std::size_t places = lock == nullptr ? 0 : lock->standing_count();
    if (places == 0 || places < *request.waiters_max) continue;
    ReplaceNewest(*lock, request.owner, now, effects);
    // It may have stood in other lines too, and been all there was.
    FindNamedAgain();
    NeedDrainedLocks();
  }
}

LockResult LockEngine::DenyAll(const MlockRequest& request, ClientRef client, std::size_t key,
                               DenialReason reason, TimeMs now) {
  const NamedLock& named = named_[key];
  LockResult result = Deny(named.name.hash, *named.lock, request.each, client, reason, now);
  result.key = key;
  return result;
}

Group& LockEngine::MakeClaims(const MlockRequest& request, ClientRef client) {
  auto* group = new Group(request.keys);
  for (NamedLock& named : named_) {
    NeedLock(named);
    AddToGroup(*group, CreateClaim(*named.lock, request.each, client));
  }
  if (request.each.meta) ShareMeta(*group);
  return *group;
}

void LockEngine::ShareMeta(const Group& group) {
  const auto& meta = group.claims.front()->extras->meta;
  for (Claim* claim : group.claims) claim->extras->meta = meta;
}

bool LockEngine::Mrenew(const MrenewRequest& request, TimeMs now, Effects& effects) {
  FindNamed(request.keys, now, effects);
  boost::container::static_vector<Hold*, kMlockKeysMax> holds;
  for (const NamedLock& named : named_) {
    Hold* hold = named.lock == nullptr
                     ? nullptr
                     : FindHold(*named.lock, request.each.owner, request.each.token);
    if (IsRenewable(hold)) holds.push_back(hold);
  }
  const bool are_all_held = holds.size() == named_.size();
  if (!are_all_held) return false;
  for (Hold* hold : holds) {
    LockEntry& lock = LockEntry::Of(*hold);
    RenewHold(table_.HashOf(lock.key()), lock, *hold, request.each, now);
  }
  return are_all_held;
}

std::size_t LockEngine::Munlock(const MunlockRequest& request, TimeMs now, Effects& effects) {
  FindNamed(request.keys, now, effects);
  UnlockRequest each = request.each;
  std::size_t released = 0;
  for (const KeyName& key : request.keys) {
    each.key = key;
    if (Unlock(each, now, effects)) ++released;
  }
  return released;
}

}  // namespace fairlock::engine
