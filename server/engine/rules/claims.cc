#include "server/engine/rules/claims.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <string>

namespace fairlock::engine {

DurationMs Claims::LeaseOf(const EngineState& state, const LockRequest& request) {
  return request.lease_ms.value_or(request.terms.session_grace_ms ? 0
                                                                  : state.options.default_lease_ms);
}

Claim& Claims::Create(EngineState& state, LockEntry& lock, const LockRequest& request,
                      ClientRef client) {
  Claim& claim = state.table.CreateClaim(lock, request.owner);
  ApplyOptions(state, claim, request, client);
  return claim;
}

void Claims::ApplyOptions(EngineState& state, Claim& claim, const LockRequest& request,
                          ClientRef client) {
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
  if (request.notify) claim.NeedExtras().channel = state.channels.Need(*request.notify);
  state.labels.DropUse(claim.label);
  claim.label = state.labels.Use(state.LabelOf(request, claim.lock.key().bytes)) & kLabelRefMax;
  SetClient(state, claim, client);
  claim.SetLeaseMs(LeaseOf(state, request));
}

void Claims::SetClient(EngineState& state, Hold& hold, ClientRef client) {
  state.clients.AddUse(client);
  state.clients.DropUse(hold.client);
  hold.client = client & kClientRefMax;
}

void Claims::Destroy(EngineState& state, Claim& claim) {
  if (claim.multi_lock() != nullptr) DropFromMultiLock(state, claim);
  state.wheel.Cancel(claim);
  state.clients.DropUse(claim.client);
  state.labels.DropUse(claim.label);
  state.table.DestroyClaim(claim);
}

Claim& Claims::MovePlainHoldToClaim(EngineState& state, LockEntry& lock) {
  ContendedLock& contended = lock.NeedContended();
  auto& plain = lock.plain;
  Claim& claim = state.table.CreateClaim(lock, lock.plain_owner());
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
  state.ScheduleMember(contended, claim, plain.deadline(), TimerClass::kLease);
  contended.holds.push_front(claim);
  state.wheel.Cancel(plain);
  plain.label = kNoLabel;
  plain.token = 0;
  plain.set_remaining_stored(false);
  return claim;
}

bool Claims::Discard(EngineState& state, std::uint64_t hash, LockEntry& lock) {
  if (lock.contended != nullptr && lock.contended->empty()) lock.contended.reset();
  if (lock.has_plain_hold() || lock.contended != nullptr) return false;
  --state.counts.locks;
  --state.locks_by_db[lock.key().db];
  state.table.Destroy(hash, lock);
  return true;
}

void Claims::DiscardAll(EngineState& state, LockSpan locks) {
  for (LockEntry* lock : locks) Discard(state, state.table.HashOf(lock->key()), *lock);
}

void Claims::AddToMultiLock(MultiLock& multi_lock, Claim& claim) {
  ClaimExtras& extras = claim.NeedExtras();
  assert(extras.multi_lock == nullptr && !multi_lock.is_whole());
  extras.multi_lock = &multi_lock;
  extras.rank = static_cast<std::uint8_t>(multi_lock.claims.size());
  multi_lock.claims.push_back(&claim);
}

void Claims::DropFromMultiLock(EngineState& state, Claim& claim) {
  MultiLock& multi_lock = *claim.multi_lock();
  claim.extras->multi_lock = nullptr;
  multi_lock.claims.erase(std::find(multi_lock.claims.begin(), multi_lock.claims.end(), &claim));
  if (!multi_lock.claims.empty()) return;
  assert(multi_lock.attachment == nullptr);
  StopMultiLock(state, multi_lock);
  delete &multi_lock;
}

void Claims::StartMultiLock(EngineState& state, MultiLock& multi_lock, Token token) {
  assert(!multi_lock.is_held() && multi_lock.is_whole());
  state.wheel.Cancel(multi_lock);
  multi_lock.token = token;
  multi_lock.is_touched = false;
  state.held_multi_locks.Insert(multi_lock);
}

void Claims::StopMultiLock(EngineState& state, MultiLock& multi_lock) {
  state.wheel.Cancel(multi_lock);
  if (!multi_lock.is_held()) return;
  state.held_multi_locks.Erase(multi_lock);
  multi_lock.token = 0;
}

}  // namespace fairlock::engine
