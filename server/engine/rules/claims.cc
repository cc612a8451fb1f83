#include "server/engine/rules/claims.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <string>

namespace fairlock::engine {

DurationMs Claims::LeaseOf(const LockRequest& request) const {
  return request.lease_ms.value_or(
      request.terms.session_grace_ms ? 0 : state_.options.default_lease_ms);
}

Claim& Claims::Create(LockEntry& lock, const LockRequest& request, ClientRef client) {
  Claim& claim = state_.table.CreateClaim(lock, request.owner);
  ApplyOptions(claim, request, client);
  return claim;
}

void Claims::ApplyOptions(Claim& claim, const LockRequest& request, ClientRef client) {
  claim.mode = request.mode();
  claim.keep_ms = static_cast<std::uint32_t>(request.keep_ms);
  claim.set_redis_way(request.is_redis_way);
  MultiLock* multi_lock = claim.multi_lock();
  const std::uint8_t rank = claim.rank();
  claim.extras.reset();
  if (multi_lock != nullptr) {
    claim.NeedExtras().multi_lock = multi_lock;
    claim.extras->rank = rank;
  }
  if (request.meta) claim.NeedExtras().meta = std::make_shared<const std::string>(*request.meta);
  if (request.terms != Terms{}) claim.NeedExtras().terms = request.terms;
  if (request.notify) claim.NeedExtras().channel = state_.channels.Need(*request.notify);
  state_.labels.DropUse(claim.label);
  claim.label = state_.labels.Use(state_.LabelOf(request, claim.lock.key().bytes)) & kLabelRefMax;
  SetClient(claim, client);
  claim.SetLeaseMs(LeaseOf(request));
}

void Claims::SetClient(Hold& hold, ClientRef client) {
  state_.clients.AddUse(client);
  state_.clients.DropUse(hold.client);
  hold.client = client & kClientRefMax;
}

void Claims::Destroy(Claim& claim) {
  if (claim.multi_lock() != nullptr) DropFromMultiLock(claim);
  state_.wheel.Cancel(claim);
  state_.clients.DropUse(claim.client);
  state_.labels.DropUse(claim.label);
  state_.table.DestroyClaim(claim);
}

Claim& Claims::MovePlainHoldToClaim(LockEntry& lock) {
  ContendedLock& contended = lock.NeedContended();
  auto& plain = lock.plain;
  Claim& claim = state_.table.CreateClaim(lock, lock.plain_owner());
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
  claim.set_remaining_stored(plain.is_remaining_stored());
  claim.set_redis_way(plain.is_redis_way());
  claim.set_leaving(plain.is_leaving());
  state_.ScheduleMember(contended, claim, plain.deadline(), TimerClass::kLease);
  contended.holds.push_front(claim);
  state_.wheel.Cancel(plain);
  plain.label = kNoLabel;
  plain.token = 0;
  plain.set_remaining_stored(false);
  return claim;
}

bool Claims::Discard(std::uint64_t hash, LockEntry& lock) {
  if (lock.contended != nullptr && lock.contended->empty()) lock.contended.reset();
  if (lock.has_plain_hold() || lock.contended != nullptr) return false;
  --state_.counts.locks;
  --state_.locks_by_db[lock.key().db];
  state_.table.Destroy(hash, lock);
  return true;
}

void Claims::DiscardAll(LockSpan locks) {
  for (LockEntry* lock : locks) Discard(state_.table.HashOf(lock->key()), *lock);
}

void Claims::AddToMultiLock(MultiLock& multi_lock, Claim& claim) {
  ClaimExtras& extras = claim.NeedExtras();
  assert(extras.multi_lock == nullptr && !multi_lock.is_whole());
  extras.multi_lock = &multi_lock;
  extras.rank = static_cast<std::uint8_t>(multi_lock.claims.size());
  multi_lock.claims.push_back(&claim);
}

void Claims::DropFromMultiLock(Claim& claim) {
  MultiLock& multi_lock = *claim.multi_lock();
  claim.extras->multi_lock = nullptr;
  multi_lock.claims.erase(std::find(multi_lock.claims.begin(), multi_lock.claims.end(), &claim));
  if (!multi_lock.claims.empty()) return;
  assert(multi_lock.attachment == nullptr);
  StopMultiLock(multi_lock);
  delete &multi_lock;
}

void Claims::StartMultiLock(MultiLock& multi_lock, Token token) {
  assert(!multi_lock.is_held() && multi_lock.is_whole());
  state_.wheel.Cancel(multi_lock);
  multi_lock.token = token;
  multi_lock.is_touched = false;
  state_.held_multi_locks.Insert(multi_lock);
}

void Claims::StopMultiLock(MultiLock& multi_lock) {
  state_.wheel.Cancel(multi_lock);
  if (!multi_lock.is_held()) return;
  state_.held_multi_locks.Erase(multi_lock);
  multi_lock.token = 0;
}

}  // namespace fairlock::engine
