#include "server/engine/redis_locks.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace fairlock::engine {

namespace {

WriteStatus WriteRefusalOf(LockStatus status) {
  switch (status) {
    case LockStatus::kTooManyOfClient:
      return WriteStatus::kTooManyOfClient;
    case LockStatus::kOutOfMemory:
      return WriteStatus::kOutOfMemory;
    default:
      return WriteStatus::kTooManyLocks;
  }
}

}  // namespace

WriteResult RedisLocks::Write(const WriteRequest& request, Attachment& from, TimeMs now,
                              Effects& effects) {
  if (request.only_new) return AskNew(request, from, now, effects);
  const std::uint64_t hash = engine_.table_.HashOf(request.key);
  LockEntry* lock = engine_.FindSettled(hash, request.key, now, effects);
  if (lock != nullptr && lock->hold_count() > 0) {
    return Rewrite(hash, *lock, request, from, now, effects);
  }
  if (request.only_held) return {.status = WriteStatus::kNotHeld};
  return AskNew(request, from, now, effects);
}

WriteResult RedisLocks::AskNew(const WriteRequest& request, Attachment& from, TimeMs now,
                               Effects& effects) {
  const bool is_over = request.end == WrittenEnd::kAfter && request.lease_ms <= 0;
  LockRequest asked;
  asked.key = request.key;
  asked.owner = request.value;
  asked.lease_ms = request.end == WrittenEnd::kAfter && !is_over ? request.lease_ms : 0;
  asked.only_new = true;
  asked.is_redis_way = true;
  asked.takes_place = request.only_new;
  const LockResult result = engine_.Lock(asked, from, now, effects);
  if (IsRefusal(result.status)) return {.status = WriteRefusalOf(result.status)};
  if (result.status != LockStatus::kGranted) {
    assert(result.status == LockStatus::kDenied || result.status == LockStatus::kKept);
    return {.status = WriteStatus::kDenied, .reason = result.reason};
  }
  if (is_over) ExpireNow(request.key, result.token, now, effects);
  return {.status = WriteStatus::kGranted, .token = result.token, .key_hash = result.key_hash};
}

WriteResult RedisLocks::Rewrite(std::uint64_t hash, LockEntry& lock, const WriteRequest& request,
                                Attachment& from, TimeMs now, Effects& effects) {
  auto& hold = const_cast<Hold&>(*lock.oldest_hold());
  if (lock.hold_count() > 1 || OwnerOf(hold) != request.value) {
    if (MayEnd(lock)) return TakeOver(hash, lock, request, from, now, effects);
    engine_.TellRefused(hash, lock, request.value, from.client, now);
    return {.status = WriteStatus::kNative};
  }
  const Token token = hold.token;
  // Its owner knows of it.
  if (hold.is_claim()) {
    LockEngine::Confirm(static_cast<Claim&>(hold));
  } else {
    lock.plain.set_touched(true);
  }
  if (request.end == WrittenEnd::kAfter && request.lease_ms <= 0) {
    ExpireNow(request.key, token, now, effects);
  } else if (request.end != WrittenEnd::kKept) {
    const DurationMs lease_ms = request.end == WrittenEnd::kAfter ? request.lease_ms : 0;
    SetLease(hash, lock, hold, lease_ms, now);
  }
  return {.status = WriteStatus::kRenewed, .token = token, .key_hash = hash};
}

// A hold of LIMIT 1 follows the last of several.
void RedisLocks::MakeRoomForOne(LockEntry& lock) {
  if (lock.detail == nullptr) return;
  LockDetail& detail = *lock.detail;
  while (!detail.cooling.empty()) engine_.EndCooling(detail.cooling.front());
  for (Claim& place : detail.standing) {
    if (!place.is_reserved) continue;
    engine_.Unreserve(place);
    engine_.NoteOtherLines(place);
  }
}

WriteResult RedisLocks::TakeOver(std::uint64_t hash, LockEntry& lock, const WriteRequest& request,
                                 const Attachment& from, TimeMs now, Effects& effects) {
  if (engine_.takes_nothing_new()) return {.status = WriteStatus::kOutOfMemory};
  LockEngine::Succession terms{.new_owner = request.value,
                               .is_redis_way = true,
                               .keeps_terms = request.is_rename && lock.hold_count() == 1,
                               .client = from.client};
  if (request.is_rename) terms.is_redis_way = lock.oldest_hold()->is_redis_way();
  const bool is_over = request.end == WrittenEnd::kAfter && request.lease_ms <= 0;
  if (request.end == WrittenEnd::kKept) {
    const Hold& longest = LongestHold(lock);
    terms.end = longest.deadline();
    terms.lease_ms = terms.end >= kNever ? 0 : static_cast<DurationMs>(longest.lease_ms);
    // The grace of a session has no length on record.
    if (terms.end < kNever && terms.lease_ms == 0) {
      terms.lease_ms = std::max<DurationMs>(terms.end - now, 1);
    }
  } else if (request.end == WrittenEnd::kAfter && !is_over) {
    terms.end = now + request.lease_ms;
    terms.lease_ms = request.lease_ms;
  }
  Hold& hold = EndAllButOne(hash, lock, request.value, now);
  if (!terms.keeps_terms) MakeRoomForOne(lock);
  const Token token = engine_.HandOver(hash, lock, hold, terms, now, effects);
  if (is_over) ExpireNow(request.key, token, now, effects);
  return {.status = WriteStatus::kTakenOver, .token = token, .key_hash = hash};
}

// One is left, the oldest of another owner than the heir.
Hold& RedisLocks::EndAllButOne(std::uint64_t hash, LockEntry& lock, std::string_view heir,
                               TimeMs now) {
  constexpr auto kEnd = LockEngine::HoldEnd::kBroken;
  if (lock.has_plain_hold() && lock.hold_count() > 1 && lock.plain_owner() == heir) {
    engine_.EndHold(hash, lock, lock.plain, kEnd, now);
  }
  auto& left = const_cast<Hold&>(*lock.oldest_hold());
  if (lock.hold_count() == 1) return left;
  auto& holds = lock.detail->holds;
  Hold* kept = &left;
  if (OwnerOf(left) == heir) kept = &*std::next(holds.begin());
  for (auto at = holds.begin(); at != holds.end();) {
    Claim& hold = *at;
    ++at;
    if (&hold != kept) engine_.EndHold(hash, lock, hold, kEnd, now);
  }
  return *kept;
}

void RedisLocks::ExpireNow(const KeyName& key, Token token, TimeMs now, Effects& effects) {
  const std::uint64_t hash = engine_.table_.HashOf(key);
  LockEntry* lock = engine_.table_.Find(hash, key);
  const Hold* hold = lock == nullptr ? nullptr : LockEngine::FindToken(*lock, token);
  if (hold == nullptr) return;
  engine_.EndHold(hash, *lock, const_cast<Hold&>(*hold), LockEngine::HoldEnd::kExpired, now);
  engine_.Serve(*lock, now, effects);
  engine_.Discard(hash, *lock);
}

bool RedisLocks::WouldBeGranted(const WriteRequest& request) {
  const Mode asked;
  LockEntry* lock = engine_.table_.Find(engine_.table_.HashOf(request.key), request.key);
  if (lock == nullptr) return !engine_.IsDrained(request.key);
  if (lock->hold_count() > 0) return false;
  Claim* place = engine_.table_.FindClaim(*lock, request.value);
  if (place == nullptr) return engine_.MayPass(*lock, asked);
  if (place->group() != nullptr || place->state == ClaimState::kWaiting) return false;
  const bool was_reserved = place->is_reserved;
  engine_.Unreserve(*place);
  const bool is_free = engine_.FindBlocked(*place, asked) == nullptr;
  if (was_reserved) engine_.Reserve(*place);
  return is_free;
}

WriteStatus RedisLocks::WriteAllNew(std::span<const WriteRequest> requests, Attachment& from,
                                    TimeMs now, Effects& effects, std::span<WriteResult> granted) {
  // To settle one key may change another.
  for (const WriteRequest& request : requests) {
    engine_.FindSettled(engine_.table_.HashOf(request.key), request.key, now, effects);
  }
  std::uint64_t missing = 0;
  for (const WriteRequest& request : requests) {
    if (!WouldBeGranted(request)) return WriteStatus::kDenied;
    const std::uint64_t hash = engine_.table_.HashOf(request.key);
    if (engine_.table_.Find(hash, request.key) == nullptr) ++missing;
  }
  if (const auto refusal = engine_.WhyNoNewLocks(missing)) return WriteRefusalOf(*refusal);
  if (const auto refusal = engine_.WhyNotMore(from.client, requests.size())) {
    return WriteRefusalOf(*refusal);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    WriteRequest request = requests[i];
    // What is held now was named before in these requests.
    request.only_new = false;
    granted[i] = Write(request, from, now, effects);
  }
  return WriteStatus::kGranted;
}

bool RedisLocks::MayEnd(const LockEntry& lock) const {
  return engine_.options_.ends_native_leases || lock.oldest_hold()->is_redis_way();
}

bool RedisLocks::MayChange(const KeyName& key, const Attachment& from, TimeMs now,
                           Effects& effects) {
  const std::uint64_t hash = engine_.table_.HashOf(key);
  const LockEntry* lock = engine_.FindSettled(hash, key, now, effects);
  if (lock == nullptr || lock->hold_count() == 0 || MayEnd(*lock)) return true;
  engine_.TellRefused(hash, *lock, {}, from.client, now);
  return false;
}

void RedisLocks::EndAllHolds(std::uint64_t hash, LockEntry& lock, LockEngine::HoldEnd end,
                             TimeMs now) {
  if (lock.has_plain_hold()) engine_.EndHold(hash, lock, lock.plain, end, now);
  while (lock.detail != nullptr && !lock.detail->holds.empty()) {
    Claim& hold = lock.detail->holds.front();
    // It is not its owner who releases it.
    const bool is_lost = hold.channel() != nullptr && end == LockEngine::HoldEnd::kReleased;
    if (is_lost) engine_.TellLoss(hold, end, now);
    engine_.EndHold(hash, lock, hold, end, now);
  }
}

bool RedisLocks::Release(const KeyName& key, const Attachment& from, TimeMs now, Effects& effects) {
  if (!MayChange(key, from, now, effects)) return false;
  const std::uint64_t hash = engine_.table_.HashOf(key);
  LockEntry* lock = engine_.table_.Find(hash, key);
  if (lock == nullptr || lock->hold_count() == 0) return false;
  EndAllHolds(hash, *lock, LockEngine::HoldEnd::kReleased, now);
  engine_.Serve(*lock, now, effects);
  engine_.Discard(hash, *lock);
  return true;
}

bool RedisLocks::Expire(const ExpiryRequest& request, const Attachment& from, TimeMs now,
                        Effects& effects) {
  const bool may_change = MayChange(request.key, from, now, effects);
  if (!may_change) return false;
  const std::uint64_t hash = engine_.table_.HashOf(request.key);
  LockEntry* lock = engine_.table_.Find(hash, request.key);
  if (lock == nullptr || lock->hold_count() == 0) return false;
  const TimeMs end = LongestHold(*lock).deadline();
  const bool is_endless = end >= kNever;
  const TimeMs asked_end = request.lease_ms ? now + *request.lease_ms : kNever;
  const bool is_excluded = (!request.lease_ms && is_endless) ||
                           (request.only_endless && !is_endless) ||
                           (request.only_ending && is_endless) ||
                           (request.only_later && (is_endless || asked_end <= end)) ||
                           (request.only_earlier && !is_endless && asked_end >= end);
  if (is_excluded) return false;
  if (request.lease_ms && *request.lease_ms <= 0) return Release(request.key, from, now, effects);
  const DurationMs lease_ms = request.lease_ms.value_or(0);
  if (lock->has_plain_hold()) SetLease(hash, *lock, lock->plain, lease_ms, now);
  if (lock->detail == nullptr) return true;
  for (Claim& hold : lock->detail->holds) SetLease(hash, *lock, hold, lease_ms, now);
  return true;
}

void RedisLocks::SetLease(std::uint64_t hash, LockEntry& lock, Hold& hold, DurationMs lease_ms,
                          TimeMs now) {
  const TimeMs end = lease_ms == 0 ? kNever : now + lease_ms;
  const auto recorded_ms = static_cast<DurationMs>(hold.lease_ms);
  hold.SetLeaseMs(lease_ms);
  if (lease_ms != recorded_ms || hold.is_left_kept()) engine_.NoteHold(hash, hold);
  if (!hold.is_claim()) {
    engine_.wheel_.Schedule(hold, end, TimerClass::kLease);
  } else {
    auto& claim = static_cast<Claim&>(hold);
    const bool is_in_grace = claim.has_session() && claim.attachment == nullptr;
    const TimeMs deadline = claim.deadline();
    engine_.SetLeaseEnd(*lock.detail, claim, end);
    // The grace of a session goes on.
    if (is_in_grace) {
      engine_.ScheduleMember(*lock.detail, claim, std::min(deadline, end), TimerClass::kLease);
    }
  }
  engine_.Tell(EventKind::kRenewed, hash, lock, hold, now);
}

namespace {

struct NamedKey {
  std::uint64_t hash;
  std::uint8_t db;
  std::string bytes;
};

}  // namespace

void RedisLocks::Flush(std::optional<std::uint8_t> db, const Attachment& from, TimeMs now,
                       Effects& effects) {
  assert(engine_.is_in_step());
  std::vector<NamedKey> keys;
  std::uint64_t cursor = 0;
  // The locks of other databases are in the same table, so the walk ends when none of these is
  // left.
  const auto is_any_left = [&] {
    return db ? engine_.CountLocks(*db) > 0 : engine_.table_.size() > 0;
  };
  if (!is_any_left()) return;
  do {
    keys.clear();
    cursor = engine_.table_.ScanGroup(cursor, [&](const LockEntry& lock) {
      const KeyName key = lock.key();
      if (db && *db != key.db) return;
      keys.push_back({engine_.table_.HashOf(key), key.db, std::string(key.bytes)});
    });
    for (const NamedKey& key : keys) {
      LockEntry* lock = engine_.FindSettled(key.hash, {key.db, key.bytes, key.hash}, now, effects);
      if (lock != nullptr) FlushLock(key.hash, *lock, from, now, effects);
    }
  } while (cursor != 0 && is_any_left());
}

void RedisLocks::FlushLock(std::uint64_t hash, LockEntry& lock, const Attachment& from, TimeMs now,
                           Effects& effects) {
  const bool ends_all = engine_.options_.ends_native_leases;
  if (lock.hold_count() > 0 && MayEnd(lock)) {
    EndAllHolds(hash, lock, LockEngine::HoldEnd::kReleased, now);
  } else if (lock.hold_count() > 0) {
    engine_.TellRefused(hash, lock, {}, from.client, now);
  }
  if (lock.detail != nullptr) {
    LockDetail& detail = *lock.detail;
    if (ends_all && !detail.cooling.empty()) {
      detail.vacating = Cause::kRequest;
      while (!detail.cooling.empty()) engine_.EndCooling(detail.cooling.front());
    }
    for (auto at = detail.line.begin(); at != detail.line.end();) {
      Claim& place = *at;
      ++at;
      if (!place.is_redis_way()) continue;
      engine_.TellPlace(EventKind::kCancelled, place, now);
      engine_.RemovePlace(place, Cause::kRequest);
    }
  }
  engine_.Serve(lock, now, effects);
  engine_.Discard(hash, lock);
}

bool RedisLocks::Exists(const LockEntry& lock) {
  if (lock.hold_count() > 0) return true;
  if (lock.detail == nullptr) return false;
  const LockDetail& detail = *lock.detail;
  return detail.reserved > 0 || !detail.cooling.empty() || lock.is_mlock_next();
}

bool RedisLocks::IsSemaphore(const LockEntry& lock) {
  if (lock.detail == nullptr) return false;
  return std::any_of(lock.detail->holds.begin(), lock.detail->holds.end(),
                     [](const Claim& hold) { return hold.mode.is_shared || hold.mode.limit > 1; });
}

const Hold& RedisLocks::LongestHold(const LockEntry& lock) {
  const Hold* longest = lock.oldest_hold();
  if (lock.detail == nullptr) return *longest;
  for (const Claim& hold : lock.detail->holds) {
    if (hold.deadline() > longest->deadline()) longest = &hold;
  }
  return *longest;
}

std::optional<DurationMs> RedisLocks::TimeLeft(const LockEntry& lock, TimeMs now) {
  TimeMs end = 0;
  if (lock.hold_count() > 0) {
    end = LongestHold(lock).deadline();
  } else {
    for (const CoolingRoom& room : lock.detail->cooling) end = std::max(end, room.deadline());
    for (const Claim& place : lock.detail->standing) {
      if (place.is_reserved) end = std::max(end, TimerOf(place).deadline());
    }
    if (end == 0) end = kNever;
  }
  if (end >= kNever) return std::nullopt;
  return std::max<DurationMs>(end - now, 0);
}

KeyLook RedisLocks::Look(const KeyName& key, TimeMs now, Effects& effects) {
  const LockEntry* lock = engine_.FindSettled(engine_.table_.HashOf(key), key, now, effects);
  KeyLook look;
  if (lock == nullptr || !Exists(*lock)) return look;
  look.exists = true;
  look.ttl_ms = TimeLeft(*lock, now);
  const Hold* hold = lock->oldest_hold();
  if (hold == nullptr) return look;
  look.is_held = true;
  look.is_semaphore = IsSemaphore(*lock);
  look.is_redis_way = hold->is_redis_way();
  look.owner = OwnerOf(*hold);
  return look;
}

std::uint64_t RedisLocks::Scan(
    std::uint64_t cursor, std::size_t count, std::uint8_t db, MatchBudget& budget,
    const std::function<void(const KeyName&, bool is_semaphore)>& visit) const {
  std::size_t looked_at = 0;
  do {
    cursor = engine_.table_.ScanGroup(cursor, [&](const LockEntry& lock) {
      ++looked_at;
      budget.ChargeLook();
      const KeyName key = lock.key();
      if (key.db == db && Exists(lock)) visit(key, IsSemaphore(lock));
    });
  } while (cursor != 0 && looked_at < count && !budget.is_spent());
  return cursor;
}

}  // namespace fairlock::engine
