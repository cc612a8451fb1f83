#include "server/engine/lock_engine.h"

#include <algorithm>
#include <cassert>

#include "server/engine/faults.h"

namespace fairlock::engine {

LockEngine::LockEngine(const EngineOptions& options)
    : options_(options), table_(options.hash_seed), next_token_(options.first_token) {
  assert(next_token_ > 0);
}

LockEngine::~LockEngine() {
  std::vector<LockEntry*> locks;
  for (std::uint64_t cursor = 0;;) {
    cursor = table_.ScanGroup(cursor, [&](LockEntry& lock) { locks.push_back(&lock); });
    if (cursor == 0) break;
  }
  for (LockEntry* lock : locks) {
    if (lock->detail == nullptr) continue;
    LockDetail& detail = *lock->detail;
    while (!detail.watchers.empty()) DestroyWatcher(detail.watchers.front());
    while (!detail.line.empty()) {
      Claim& place = detail.line.front();
      LeaveLine(place);
      DestroyClaim(place);
    }
    while (!detail.holds.empty()) {
      Claim& hold = detail.holds.front();
      detail.holds.pop_front();
      DestroyClaim(hold);
    }
  }
}

LockResult LockEngine::Lock(const LockRequest& request, Attachment& from, TimeMs now,
                            Effects& effects) {
  const std::uint64_t hash = table_.HashOf(request.key);
  recent_.Prefetch(hash);
  LockEntry* lock = FindSettled(hash, request.key, now, effects);
  if (lock == nullptr) return GrantNewLock(hash, request, from, now);
  if (Hold* hold = FindHold(*lock, request.owner, std::nullopt)) {
    if (request.only_new) return Deny(hash, DenialReason::kHeld);
    return Reacquire(*lock, *hold, request, from, now);
  }
  if (lock->detail != nullptr) {
    if (Claim* place = table_.FindClaim(*lock, request.owner)) {
      return RepeatWaiting(*place, request, from, now, effects);
    }
  }
  return AskAnew(hash, *lock, request, from, now, effects);
}

LockResult LockEngine::GrantNewLock(std::uint64_t hash, const LockRequest& request,
                                    Attachment& from, TimeMs now) {
  if (counts_.locks >= options_.locks_max) return {LockStatus::kTooManyLocks};
  ++counts_.locks;
  ++locks_by_db_[request.key.db];
  const bool is_plain = !request.limit && !request.meta;
  LockEntry& lock = table_.Create(hash, request.key, is_plain ? request.owner : "");
  if (!is_plain) {
    Claim& claim = CreateClaim(lock, request, from.client);
    AddHold(claim, LeaseOf(request), now);
    return {LockStatus::kGranted, DenialReason::kNone, claim.token};
  }
  Hold& hold = lock.plain;
  hold.client = from.client & kClientRefMax;
  clients_.AddUse(from.client);
  if (request.label) hold.label = labels_.Use(*request.label) & kLabelRefMax;
  StartHold(hold, LeaseOf(request), now);
  return {LockStatus::kGranted, DenialReason::kNone, hold.token};
}

LockResult LockEngine::Reacquire(LockEntry& lock, Hold& held, const LockRequest& request,
                                 Attachment& from, TimeMs now) {
  Hold* hold = &held;
  const std::uint32_t limit = request.limit.value_or(1);
  if (LimitOf(*hold) > 1 && limit < LimitOf(*hold)) return {LockStatus::kLimitDiffers};
  if (request.meta) {
    Claim& claim = hold->is_claim() ? static_cast<Claim&>(*hold) : MovePlainHoldToClaim(lock);
    claim.meta = std::make_unique<std::string>(*request.meta);
    hold = &claim;
  }
  if (request.label) {
    labels_.DropUse(hold->label);
    hold->label = labels_.Use(*request.label) & kLabelRefMax;
  }
  clients_.AddUse(from.client);
  clients_.DropUse(hold->client);
  hold->client = from.client & kClientRefMax;
  const DurationMs asked_ms = LeaseOf(request);
  if (asked_ms > static_cast<DurationMs>(hold->lease_ms)) {
    hold->lease_ms = static_cast<std::uint64_t>(asked_ms) & ((1ULL << 36) - 1);
  }
  const TimeMs end = IsFaulty(Fault::kRepeatShortens) ? now + asked_ms
                                                      : std::max(hold->deadline(), now + asked_ms);
  if (hold->is_claim()) {
    ScheduleMember(*lock.detail, *hold, end, TimerClass::kLease);
  } else {
    wheel_.Schedule(*hold, end, TimerClass::kLease);
  }
  return {LockStatus::kAlready, DenialReason::kNone, hold->token};
}

LockResult LockEngine::RepeatWaiting(Claim& place, const LockRequest& request, Attachment& from,
                                     TimeMs now, Effects& effects) {
  LockEntry& lock = place.lock;
  const std::uint32_t limit = request.limit.value_or(1);
  const bool is_its_turn = IsTurnOf(lock, place, limit);
  if (!is_its_turn && request.wait_ms == 0) {
    return Deny(table_.HashOf(request.key), ReasonFor(lock, limit));
  }
  Answer(place, ResolutionKind::kSuperseded, 0, effects);
  ApplyOptions(place, request, from.client);
  if (!is_its_turn) {
    Await(place, request.wait_ms, from, now);
    return {LockStatus::kQueued, ReasonFor(lock, limit), 0};
  }
  GrantPlace(place, now);
  const Token token = place.token;
  Serve(lock, now, effects);
  return {LockStatus::kGranted, DenialReason::kNone, token};
}

LockResult LockEngine::AskAnew(std::uint64_t hash, LockEntry& lock, const LockRequest& request,
                               Attachment& from, TimeMs now, Effects&) {
  const std::uint32_t limit = request.limit.value_or(1);
  const bool is_line_empty = lock.place_count() == 0 || IsFaulty(Fault::kBarging);
  if (is_line_empty && HasRoom(lock, limit)) {
    Claim& claim = CreateClaim(lock, request, from.client);
    AddHold(claim, LeaseOf(request), now);
    return {LockStatus::kGranted, DenialReason::kNone, claim.token};
  }
  const DenialReason reason = ReasonFor(lock, limit);
  if (request.wait_ms == 0) return Deny(hash, reason);
  if (counts_.places + counts_.watchers >= options_.places_max) {
    return {LockStatus::kTooManyPlaces};
  }
  Claim& place = CreateClaim(lock, request, from.client);
  JoinLine(place, request, from, now);
  return {LockStatus::kQueued, reason, 0};
}

LockResult LockEngine::Deny(std::uint64_t hash, DenialReason reason) {
  ++counts_.denied;
  ++recent_.Touch(hash).denied;
  return {LockStatus::kDenied, reason, 0};
}

DurationMs LockEngine::LeaseOf(const LockRequest& request) const {
  return request.lease_ms.value_or(options_.default_lease_ms);
}

Hold* LockEngine::FindHold(LockEntry& lock, std::string_view owner,
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

bool LockEngine::Unlock(const UnlockRequest& request, TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(request.key);
  recent_.Prefetch(hash);
  LockEntry* lock = FindSettled(hash, request.key, now, effects);
  if (lock == nullptr) return false;
  Hold* hold = FindHold(*lock, request.owner, request.token);
  if (IsFaulty(Fault::kForeignUnlock) && hold == nullptr && lock->has_plain_hold()) {
    hold = &lock->plain;
  }
  if (hold != nullptr) {
    EndHold(hash, *lock, *hold, HoldEnd::kReleased, now);
    if (!IsFaulty(Fault::kLostWaiter)) Serve(*lock, now, effects);
    Discard(hash, *lock);
    return true;
  }
  if (!request.token) Cancel(request.key, request.owner, now, effects);
  return false;
}

bool LockEngine::Renew(const RenewRequest& request, TimeMs now, Effects& effects) {
  LockEntry* lock = FindSettled(table_.HashOf(request.key), request.key, now, effects);
  if (lock == nullptr) return false;
  Hold* hold = FindHold(*lock, request.owner, request.token);
  if (hold == nullptr) return false;
  if (IsFaulty(Fault::kRenewShortens)) return true;
  const DurationMs lease_ms = request.lease_ms.value_or(static_cast<DurationMs>(hold->lease_ms));
  hold->lease_ms = static_cast<std::uint64_t>(lease_ms) & ((1ULL << 36) - 1);
  if (hold->is_claim()) {
    ScheduleMember(*lock->detail, *hold, now + lease_ms, TimerClass::kLease);
  } else {
    wheel_.Schedule(*hold, now + lease_ms, TimerClass::kLease);
  }
  return true;
}

bool LockEngine::Check(const KeyName& key, Token token, TimeMs now, Effects& effects) {
  const LockEntry* lock = FindSettled(table_.HashOf(key), key, now, effects);
  if (lock == nullptr || token == 0) return false;
  if (lock->plain.token == token) return true;
  return lock->detail != nullptr &&
         std::any_of(lock->detail->holds.begin(), lock->detail->holds.end(),
                     [&](const Claim& claim) { return claim.token == token; });
}

bool LockEngine::Cancel(const KeyName& key, std::string_view owner, TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(key);
  LockEntry* lock = FindSettled(hash, key, now, effects);
  if (lock == nullptr || lock->detail == nullptr) return false;
  Claim* place = table_.FindClaim(*lock, owner);
  if (place == nullptr || !place->is_place()) return false;
  Answer(*place, ResolutionKind::kCancelled, 0, effects);
  LeaveLine(*place);
  DestroyClaim(*place);
  Serve(*lock, now, effects);
  Discard(hash, *lock);
  return true;
}

TransferResult LockEngine::Transfer(const TransferRequest& request, TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(request.key);
  LockEntry* lock = FindSettled(hash, request.key, now, effects);
  if (lock == nullptr) return {};
  Hold* hold = FindHold(*lock, request.owner, request.token);
  if (hold == nullptr) return {};
  if (FindHold(*lock, request.new_owner, std::nullopt) != nullptr) {
    return {TransferStatus::kNewOwnerHoldsAlready, 0};
  }
  const DurationMs lease_ms = request.lease_ms.value_or(hold->deadline() - now);
  const DurationMs recorded_ms = request.lease_ms.value_or(static_cast<DurationMs>(hold->lease_ms));
  Claim& old = hold->is_claim() ? static_cast<Claim&>(*hold) : MovePlainHoldToClaim(*lock);

  Claim* heir = table_.FindClaim(*lock, request.new_owner);
  const bool had_place = heir != nullptr;
  if (!had_place) heir = &table_.CreateClaim(*lock, request.new_owner);
  if (had_place) LeaveLine(*heir);
  heir->limit = old.limit;
  if (heir->meta == nullptr) heir->meta = std::move(old.meta);
  if (heir->label == kNoLabel) {
    heir->label = old.label;
    labels_.AddUse(heir->label);
  }
  EndHold(hash, *lock, old, HoldEnd::kTransferred, now);
  AddHold(*heir, lease_ms, now);
  heir->lease_ms = static_cast<std::uint64_t>(recorded_ms) & ((1ULL << 36) - 1);
  const Token token = heir->token;
  Answer(*heir, ResolutionKind::kGranted, token, effects);
  Serve(*lock, now, effects);
  return {TransferStatus::kTransferred, token};
}

std::uint64_t LockEngine::Break(const KeyName& key, std::optional<std::string_view> owner,
                                TimeMs now, Effects& effects) {
  const std::uint64_t hash = table_.HashOf(key);
  LockEntry* lock = FindSettled(hash, key, now, effects);
  if (lock == nullptr) return 0;
  std::uint64_t ended = 0;
  if (owner) {
    if (Hold* hold = FindHold(*lock, *owner, std::nullopt)) {
      EndHold(hash, *lock, *hold, HoldEnd::kBroken, now);
      ++ended;
    }
  } else {
    ended = lock->hold_count();
    if (lock->has_plain_hold()) EndHold(hash, *lock, lock->plain, HoldEnd::kBroken, now);
    while (lock->detail != nullptr && !lock->detail->holds.empty()) {
      EndHold(hash, *lock, lock->detail->holds.front(), HoldEnd::kBroken, now);
    }
  }
  Serve(*lock, now, effects);
  Discard(hash, *lock);
  return ended;
}

WaitStatus LockEngine::Wait(const WaitRequest& request, Attachment& from, TimeMs now,
                            Effects& effects) {
  LockEntry* lock = FindSettled(table_.HashOf(request.key), request.key, now, effects);
  if (lock == nullptr || lock->hold_count() == 0) return WaitStatus::kFree;
  if (request.timeout_ms == 0) return WaitStatus::kTimedOut;
  if (counts_.places + counts_.watchers >= options_.places_max) return WaitStatus::kTooManyPlaces;
  LockDetail& detail = lock->NeedDetail();
  auto* watcher = new Watcher(*lock, counts_.newest_token, next_arrival_++);
  detail.watchers.push_back(*watcher);
  watcher->attachment = &from;
  from.pending.push_back(*watcher);
  ++counts_.watchers;
  ScheduleMember(detail, *watcher, std::min(now + request.timeout_ms, kNever), TimerClass::kWait);
  return WaitStatus::kWaiting;
}

}  // namespace fairlock::engine
