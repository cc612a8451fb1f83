#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cassert>

#include "server/engine/rules/deadlock_search.h"
#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

bool MultiLocks::IsDeadlockOfMlock(const LockRequest& each, bool is_replacing, TimeMs now) {
  const bool may_be = std::any_of(named_.begin(), named_.end(), [&](const NamedLock& named) {
    return named.lock != nullptr && rules_.deadlocks.MayNeverHaveSlot(*named.lock);
  });
  if (!may_be) return false;
  boost::container::static_vector<WaitQuestion::Key, kMlockKeysMax> keys;
  boost::container::static_vector<const Claim*, kMlockKeysMax> leaving;
  for (const NamedLock& named : named_) {
    if (named.lock == nullptr) continue;
    keys.push_back({.lock = named.lock});
    const bool is_full = FullQueues::IsFull(*named.lock, each) && named.lock->active_count() > 0;
    if (is_replacing && is_full) leaving.push_back(&FirstClaim(FullQueues::NewestOf(*named.lock)));
  }
  return rules_.deadlocks.IsDeadlock({.db = named_.front().name.db,
                                      .owner = each.owner,
                                      .mode = each.mode(),
                                      .keys = keys,
                                      .leaving = leaving},
                                     now);
}

LockResult MultiLocks::RefuseDeadlockOfMlock(std::size_t key, const LockRequest& each,
                                             ClientRef client, TimeMs now) {
  LockResult refused = rules_.deadlocks.RefuseDeadlock(*named_[key].lock, each, client, now);
  refused.key = key;
  return refused;
}

void MultiLocks::FindNamed(std::span<const KeyName> keys, Step step) {
  assert(!keys.empty() && keys.size() <= kMlockKeysMax);
  Limits::EndDue(state_, step.now);
  named_.assign(keys.size(), {});
  LockList found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    NamedLock& named = named_[i];
    named.name = keys[i];
    named.name.hash = state_.table.HashOf(keys[i]);
    named.lock = state_.table.Find(named.name.hash, named.name);
    if (named.lock != nullptr) found.push_back(named.lock);
  }
  if (found.empty() || !rules_.expiry.IsBehind(step.now)) return;
  rules_.expiry.Begin(found, step);
  rules_.expiry.End(found);
  Claims::DiscardAll(state_, found);
  FindNamedAgain();
}

void MultiLocks::FindNamedAgain() {
  for (NamedLock& named : named_) named.lock = state_.table.Find(named.name.hash, named.name);
}

void MultiLocks::DiscardNamed() {
  for (NamedLock& named : named_) {
    if (named.lock != nullptr && Claims::Discard(state_, named.name.hash, *named.lock))
      named.lock = nullptr;
  }
}

void MultiLocks::DropMarks(std::string_view owner) {
  for (NamedLock& named : named_) {
    if (named.lock == nullptr || named.lock->contended == nullptr) continue;
    Claim* claim = state_.table.FindClaim(*named.lock, owner);
    if (claim == nullptr || claim->state != ClaimState::kMarked) continue;
    rules_.wait_queue.Remove(*claim, Cause::kRequest);
    if (Claims::Discard(state_, named.name.hash, *named.lock)) named.lock = nullptr;
  }
}

MultiLocks::Stake MultiLocks::FindStake(std::span<const KeyName> keys, std::string_view owner) {
  Stake stake;
  for (std::size_t i = 0; i < named_.size(); ++i) {
    LockEntry* lock = named_[i].lock;
    if (lock == nullptr) continue;
    const Claim* claim = state_.table.FindClaim(*lock, owner);
    if (claim != nullptr && claim->multi_lock() != nullptr && claim->multi_lock()->IsOf(keys)) {
      stake.multi_lock = claim->multi_lock();
    } else if (claim != nullptr || (lock->has_plain_hold() && lock->plain_owner() == owner)) {
      stake.other = i;
      return stake;
    }
  }
  return stake;
}

LockResult MultiLocks::Lock(const MlockRequest& request, Attachment& from, Step step) {
  FindNamed(request.keys, step);
  // Marked places do not count yet, but an owner can have only one claim on a key.
  DropMarks(request.each.owner);
  const Stake stake = FindStake(request.keys, request.each.owner);
  if (stake.other) return {.status = LockStatus::kStakedOtherwise, .key = *stake.other};
  if (stake.multi_lock == nullptr) return AskAllAnew(request, from, step);
  if (!stake.multi_lock->is_held()) {
    return RepeatWaitingAll(*stake.multi_lock, request, from, step);
  }
  if (stake.multi_lock->is_whole()) return ReacquireAll(*stake.multi_lock, request, from, step.now);
  ReleaseAll(*stake.multi_lock, step);
  return AskAllAnew(request, from, step);
}

LockResult MultiLocks::ReacquireAll(const MultiLock& multi_lock, const MlockRequest& request,
                                    Attachment& from, TimeMs now) {
  const LockRequest& each = request.each;
  const LockEntry& first = *named_.front().lock;
  if (each.only_new) {
    return rules_.events.Deny(named_.front().name.hash, first, each, from.client,
                              DenialReason::kHeld, now);
  }
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const LockEntry& lock = *named_[i].lock;
    if (!state_.table.FindClaim(lock, each.owner)->is_leaving()) continue;
    return DenyAll(request, from.client, i, DenialReason::kLeaving, now);
  }
  const bool is_covered = std::all_of(
      multi_lock.claims.begin(), multi_lock.claims.end(),
      [&](const Claim* claim) { return RepeatedHolds::Covers(claim->mode, each.mode()); });
  if (!is_covered) return {LockStatus::kModeDiffers};
  const bool brings_too_much =
      std::any_of(multi_lock.claims.begin(), multi_lock.claims.end(),
                  [&](const Claim* claim) { return rules_.bounds.BringsTooMuch(*claim, each); });
  if (brings_too_much) return {LockStatus::kOutOfMemory};
  for (Claim* claim : multi_lock.claims) {
    rules_.repeated_holds.Reacquire(state_.table.HashOf(claim->lock.key()), claim->lock, *claim,
                                    each, from, now);
  }
  if (each.meta) ShareMeta(multi_lock);
  return {LockStatus::kAlready, DenialReason::kNone, multi_lock.token, named_.front().name.hash};
}

LockResult MultiLocks::RepeatWaitingAll(const MultiLock& multi_lock, const MlockRequest& request,
                                        Attachment& from, Step step) {
  LockResult result =
      rules_.repeated_requests.Repeat(*multi_lock.claims.front(), request.each, from, step);
  const bool is_refused =
      result.status == LockStatus::kDenied || result.status == LockStatus::kDeadlock;
  if (request.each.meta && !is_refused) ShareMeta(multi_lock);
  if (result.reason == DenialReason::kNone) return result;
  // This request may name the keys in a different order than the one that created the multi-lock.
  const KeyName blocking = multi_lock.claims[result.key]->lock.key();
  const auto found = std::find(request.keys.begin(), request.keys.end(), blocking);
  result.key = static_cast<std::size_t>(found - request.keys.begin());
  return result;
}

void MultiLocks::ReleaseAll(const MultiLock& multi_lock, Step step) {
  // Destroying the last claim destroys the multi-lock.
  for (std::size_t left = multi_lock.claims.size(); left > 0; --left) {
    Claim& hold = *multi_lock.claims.front();
    LockEntry& lock = hold.lock;
    const std::uint64_t hash = state_.table.HashOf(lock.key());
    rules_.holds.End(hash, lock, hold, HoldEnd::kReleased, step.now);
    rules_.grants.GrantNext(lock, step);
    Claims::Discard(state_, hash, lock);
  }
  FindNamedAgain();
}

LockResult MultiLocks::AskAllAnew(const MlockRequest& request, Attachment& from, Step step) {
  if (const auto refusal = rules_.bounds.WhyNoNewLocks(CountMissing())) return {*refusal};
  NeedDrainedLocks();
  const LockResult result = AskOrJoin(request, from, step);
  // The lock of a drained key may have been created only for this request, and REPLACE may have
  // ended the only place.
  DiscardNamed();
  return result;
}

LockResult MultiLocks::AskOrJoin(const MlockRequest& request, Attachment& from, Step step) {
  const LockRequest& each = request.each;
  const Mode asked = each.mode();
  auto blocked = FindBlockedKey(asked);
  if (blocked && rules_.places.WaitOf(each) == 0 && each.keep_ms == 0) {
    return DenyAll(request, from.client, *blocked,
                   Turns::ReasonFor(state_, *named_[*blocked].lock, asked), step.now);
  }
  const bool may_be_full = blocked && each.waiters_max;
  if (may_be_full) {
    if (const auto full = FindFullQueue(each)) {
      return DenyAll(request, from.client, *full, DenialReason::kFull, step.now);
    }
  }
  if (const auto refusal = rules_.bounds.WhyNotMore(from.client, named_.size())) return {*refusal};
  if (blocked && rules_.places.WaitOf(each) > 0 && IsDeadlockOfMlock(each, may_be_full, step.now)) {
    return RefuseDeadlockOfMlock(*blocked, each, from.client, step.now);
  }
  if (may_be_full) {
    ReplaceNewestOfFullQueues(each, step);
    blocked = FindBlockedKey(asked);
    if (blocked && rules_.places.WaitOf(each) > 0 && IsDeadlockOfMlock(each, false, step.now)) {
      return RefuseDeadlockOfMlock(*blocked, each, from.client, step.now);
    }
  }
  if (!blocked) return GrantAllAtOnce(request, from, step.now);
  if (state_.counts.places + state_.counts.watchers + named_.size() > state_.options.places_max) {
    return {LockStatus::kTooManyPlaces};
  }
  const auto full = std::find_if(named_.begin(), named_.end(), [&](const NamedLock& named) {
    return named.lock != nullptr &&
           rules_.bounds.IsQueueAtBound(*named.lock, state_.options.places_per_key_max);
  });
  if (full != named_.end()) {
    return {.status = LockStatus::kTooManyOnKey,
            .key = static_cast<std::size_t>(full - named_.begin())};
  }
  const DenialReason reason = Turns::ReasonFor(state_, *named_[*blocked].lock, asked);
  Claim& place = *MakeClaims(request, from.client).claims.front();
  rules_.places.Join(place, each, from, step.now);
  rules_.events.EmitQueued(place, reason, step.now);
  return {.status = rules_.places.WaitOf(each) > 0 ? LockStatus::kQueued : LockStatus::kKept,
          .reason = reason,
          .key = *blocked};
}

std::size_t MultiLocks::CountMissing() const {
  return static_cast<std::size_t>(std::count_if(
      named_.begin(), named_.end(), [](const NamedLock& named) { return named.lock == nullptr; }));
}

void MultiLocks::NeedLock(NamedLock& named) {
  if (named.lock != nullptr) return;
  ++state_.counts.locks;
  ++state_.locks_by_db[named.name.db];
  named.lock = &state_.table.Create(named.name.hash, named.name, {});
  named.lock->NeedContended();
}

void MultiLocks::NeedDrainedLocks() {
  for (NamedLock& named : named_) {
    if (Limits::IsDrained(state_, named.name)) NeedLock(named);
  }
}

LockResult MultiLocks::GrantAllAtOnce(const MlockRequest& request, Attachment& from, TimeMs now) {
  MultiLock& multi_lock = MakeClaims(request, from.client);
  const Token token = rules_.holds.NextToken();
  Claims::StartMultiLock(state_, multi_lock, token);
  for (Claim* claim : multi_lock.claims) {
    const std::uint64_t hash = state_.table.HashOf(claim->lock.key());
    rules_.holds.Add(*claim, token, &from, now);
    state_.LogHold(hash, *claim);
    rules_.events.Emit(EventKind::kGranted, hash, claim->lock, *claim, now);
  }
  return {LockStatus::kGranted, DenialReason::kNone, token, named_.front().name.hash};
}

std::optional<std::size_t> MultiLocks::FindBlockedKey(const Mode& mode) const {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const LockEntry* lock = named_[i].lock;
    if (lock != nullptr && !Turns::MayPass(state_, *lock, mode)) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> MultiLocks::FindFullQueue(const LockRequest& request) const {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const LockEntry* lock = named_[i].lock;
    if (lock == nullptr) continue;
    const std::size_t places = lock->active_count();
    if (places == 0 && Turns::MayPass(state_, *lock, request.mode())) continue;
    const bool is_replaceable = request.replaces_newest && places > 0;
    if (places >= *request.waiters_max && !is_replaceable) return i;
  }
  return std::nullopt;
}

void MultiLocks::ReplaceNewestOfFullQueues(const LockRequest& request, Step step) {
  for (std::size_t i = 0; i < named_.size(); ++i) {
    LockEntry* lock = named_[i].lock;
    const std::size_t places = lock == nullptr ? 0 : lock->active_count();
    if (places == 0 || places < *request.waiters_max) continue;
    rules_.full_queues.ReplaceNewest(*lock, request.owner, step);
    // It may have been the only place in other queues too, whose locks are then freed.
    FindNamedAgain();
    NeedDrainedLocks();
  }
}

LockResult MultiLocks::DenyAll(const MlockRequest& request, ClientRef client, std::size_t key,
                               DenialReason reason, TimeMs now) {
  const NamedLock& named = named_[key];
  LockResult result =
      rules_.events.Deny(named.name.hash, *named.lock, request.each, client, reason, now);
  result.key = key;
  return result;
}

MultiLock& MultiLocks::MakeClaims(const MlockRequest& request, ClientRef client) {
  auto* multi_lock = new MultiLock(request.keys);
  for (NamedLock& named : named_) {
    NeedLock(named);
    Claims::AddToMultiLock(*multi_lock, Claims::Create(state_, *named.lock, request.each, client));
  }
  if (request.each.meta) ShareMeta(*multi_lock);
  return *multi_lock;
}

void MultiLocks::ShareMeta(const MultiLock& multi_lock) {
  const auto& meta = multi_lock.claims.front()->extras->meta;
  for (Claim* claim : multi_lock.claims) claim->extras->meta = meta;
}

bool MultiLocks::Renew(const MrenewRequest& request, Step step) {
  FindNamed(request.keys, step);
  boost::container::static_vector<Hold*, kMlockKeysMax> holds;
  for (const NamedLock& named : named_) {
    Hold* hold = named.lock == nullptr
                     ? nullptr
                     : rules_.holds.Find(*named.lock, request.each.owner, request.each.token);
    if (Renewals::IsRenewable(hold)) holds.push_back(hold);
  }
  const bool are_all_held = holds.size() == named_.size();
  if (!are_all_held) return false;
  for (Hold* hold : holds) {
    LockEntry& lock = LockEntry::Of(*hold);
    rules_.renewals.RenewOne(state_.table.HashOf(lock.key()), lock, *hold, request.each, step.now);
  }
  return are_all_held;
}

std::size_t MultiLocks::Unlock(const MunlockRequest& request, Step step) {
  FindNamed(request.keys, step);
  UnlockRequest each = request.each;
  std::size_t released = 0;
  for (const KeyName& key : request.keys) {
    each.key = key;
    if (rules_.releases.Unlock(each, step)) ++released;
  }
  return released;
}

}  // namespace fairlock::engine
