#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>

#include "server/engine/rules/engine_rules.h"

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

struct NamedKey {
  std::uint64_t hash;
  std::uint8_t db;
  std::string bytes;
};

}  // namespace

WriteResult RedisView::Write(const WriteRequest& request, Attachment& from, Step step) {
  if (request.only_new) return AskNew(request, from, step);
  const std::uint64_t hash = state_.table.HashOf(request.key);
  LockEntry* lock = rules_.expiry.FindCurrent(hash, request.key, step);
  if (lock != nullptr && lock->hold_count() > 0) {
    return Rewrite(hash, *lock, request, from, step);
  }
  if (request.only_held) return {.status = WriteStatus::kNotHeld};
  return AskNew(request, from, step);
}

WriteResult RedisView::AskNew(const WriteRequest& request, Attachment& from, Step step) {
  const bool is_over = request.end == WrittenEnd::kAfter && request.lease_ms <= 0;
  LockRequest asked;
  asked.key = request.key;
  asked.owner = request.value;
  asked.lease_ms = request.end == WrittenEnd::kAfter && !is_over ? request.lease_ms : 0;
  asked.only_new = true;
  asked.is_redis_way = true;
  asked.takes_place = request.only_new;
  const LockResult result = rules_.lock_requests.Lock(asked, from, step);
  if (IsRefusal(result.status)) return {.status = WriteRefusalOf(result.status)};
  if (result.status != LockStatus::kGranted) {
    assert(result.status == LockStatus::kDenied || result.status == LockStatus::kKept);
    return {.status = WriteStatus::kDenied, .reason = result.reason};
  }
  if (is_over) ExpireNow(request.key, result.token, step);
  return {.status = WriteStatus::kGranted, .token = result.token, .key_hash = result.key_hash};
}

WriteResult RedisView::Rewrite(std::uint64_t hash, LockEntry& lock, const WriteRequest& request,
                               Attachment& from, Step step) {
  auto& hold = const_cast<Hold&>(*lock.oldest_hold());
  const bool is_own = lock.hold_count() == 1 && OwnerOf(hold) == request.value;
  const bool is_refused_native = !is_own && !MayEnd(lock);
  // Its client would rely on a longer lease than the hold can have.
  const bool is_end_fixed = request.end != WrittenEnd::kKept && IsAnyLeaving(lock);
  if (is_refused_native || is_end_fixed) {
    rules_.events.EmitRefused(hash, lock, request.value, from.client, step.now);
    return {.status = is_refused_native ? WriteStatus::kNative : WriteStatus::kLeaving};
  }
  if (!is_own) return TakeOver(hash, lock, request, from, step);
  const Token token = hold.token;
  // The owner has set its value again, so it knows of its grant, which can no longer be undone.
  if (hold.is_claim()) {
    Holds::Confirm(static_cast<Claim&>(hold));
  } else {
    lock.plain.set_touched(true);
  }
  if (request.end == WrittenEnd::kAfter && request.lease_ms <= 0) {
    ExpireNow(request.key, token, step);
  } else if (request.end != WrittenEnd::kKept) {
    const DurationMs lease_ms = request.end == WrittenEnd::kAfter ? request.lease_ms : 0;
    SetLease(hash, lock, hold, lease_ms, step.now);
  }
  return {.status = WriteStatus::kRenewed, .token = token, .key_hash = hash};
}

// Frees the slots of cooldowns and reservations, because the only hold left has LIMIT 1 from now
// on.
void RedisView::FreeSlotForOne(LockEntry& lock) {
  if (lock.contended == nullptr) return;
  ContendedLock& contended = *lock.contended;
  while (!contended.cooldowns.empty()) Cooldowns::End(state_, contended.cooldowns.front());
  for (Claim& place : contended.active) {
    if (!place.is_reserved) continue;
    rules_.wait_queue.Unreserve(place);
    rules_.wait_queue.EnqueueOthers(place);
  }
}

WriteResult RedisView::TakeOver(std::uint64_t hash, LockEntry& lock, const WriteRequest& request,
                                const Attachment& from, Step step) {
  if (rules_.bounds.takes_nothing_new()) return {.status = WriteStatus::kOutOfMemory};
  Transfers::Succession terms{.new_owner = request.value,
                              .is_redis_way = true,
                              .keeps_terms = request.is_rename && lock.hold_count() == 1,
                              .client = from.client};
  if (request.is_rename) terms.is_redis_way = lock.oldest_hold()->is_redis_way();
  const bool is_over = request.end == WrittenEnd::kAfter && request.lease_ms <= 0;
  if (request.end == WrittenEnd::kKept) {
    const Hold& longest = LongestHold(lock);
    terms.end = longest.deadline();
    terms.lease_ms = terms.end >= kNever ? 0 : static_cast<DurationMs>(longest.lease_ms);
    // A session in its grace has an end, but no recorded length.
    if (terms.end < kNever && terms.lease_ms == 0) {
      terms.lease_ms = std::max<DurationMs>(terms.end - step.now, 1);
    }
  } else if (request.end == WrittenEnd::kAfter && !is_over) {
    terms.end = step.now + request.lease_ms;
    terms.lease_ms = request.lease_ms;
  }
  Hold& hold = EndAllButOne(hash, lock, request.value, step.now);
  if (!terms.keeps_terms) FreeSlotForOne(lock);
  const Token token = rules_.transfers.HandOver(hash, lock, hold, terms, step);
  if (is_over) ExpireNow(request.key, token, step);
  return {.status = WriteStatus::kTakenOver, .token = token, .key_hash = hash};
}

// Ends all holds except the oldest one whose owner is not the new owner.
Hold& RedisView::EndAllButOne(std::uint64_t hash, LockEntry& lock, std::string_view heir,
                              TimeMs now) {
  constexpr auto kEnd = HoldEnd::kBroken;
  if (lock.has_plain_hold() && lock.hold_count() > 1 && lock.plain_owner() == heir) {
    rules_.holds.End(hash, lock, lock.plain, kEnd, now);
  }
  auto& left = const_cast<Hold&>(*lock.oldest_hold());
  if (lock.hold_count() == 1) return left;
  auto& holds = lock.contended->holds;
  Hold* kept = &left;
  if (OwnerOf(left) == heir) kept = &*std::next(holds.begin());
  for (auto at = holds.begin(); at != holds.end();) {
    Claim& hold = *at;
    ++at;
    if (&hold != kept) rules_.holds.End(hash, lock, hold, kEnd, now);
  }
  return *kept;
}

void RedisView::ExpireNow(const KeyName& key, Token token, Step step) {
  const std::uint64_t hash = state_.table.HashOf(key);
  LockEntry* lock = state_.table.Find(hash, key);
  const Hold* hold = lock == nullptr ? nullptr : Holds::FindToken(*lock, token);
  if (hold == nullptr) return;
  rules_.holds.End(hash, *lock, const_cast<Hold&>(*hold), HoldEnd::kExpired, step.now);
  rules_.grants.GrantNext(*lock, step);
  Claims::Discard(state_, hash, *lock);
}

bool RedisView::WouldBeGranted(const WriteRequest& request) {
  const Mode asked;
  LockEntry* lock = state_.table.Find(state_.table.HashOf(request.key), request.key);
  if (lock == nullptr) return !Limits::IsDrained(state_, request.key);
  if (lock->hold_count() > 0) return false;
  Claim* place = state_.table.FindClaim(*lock, request.value);
  if (place == nullptr) return Turns::MayPass(state_, *lock, asked);
  if (place->multi_lock() != nullptr || place->state == ClaimState::kWaiting) return false;
  const bool was_reserved = place->is_reserved;
  rules_.wait_queue.Unreserve(*place);
  const bool is_free = Turns::FindBlocked(state_, *place, asked) == nullptr;
  if (was_reserved) rules_.wait_queue.Reserve(*place);
  return is_free;
}

WriteStatus RedisView::WriteAllNew(std::span<const WriteRequest> requests, Attachment& from,
                                   Step step, std::span<WriteResult> granted) {
  // Ending what is due on one key may change another.
  for (const WriteRequest& request : requests) {
    rules_.expiry.FindCurrent(state_.table.HashOf(request.key), request.key, step);
  }
  std::uint64_t missing = 0;
  for (const WriteRequest& request : requests) {
    if (!WouldBeGranted(request)) return WriteStatus::kDenied;
    const std::uint64_t hash = state_.table.HashOf(request.key);
    if (state_.table.Find(hash, request.key) == nullptr) ++missing;
  }
  if (const auto refusal = rules_.bounds.WhyNoNewLocks(missing)) return WriteRefusalOf(*refusal);
  if (const auto refusal = rules_.bounds.WhyNotMore(from.client, requests.size())) {
    return WriteRefusalOf(*refusal);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    WriteRequest request = requests[i];
    // An earlier one of these requests has taken the key.
    request.only_new = false;
    granted[i] = Write(request, from, step);
  }
  return WriteStatus::kGranted;
}

WriteResult RedisView::Forecast(const WriteRequest& request) {
  const LockEntry* lock = state_.table.Find(state_.table.HashOf(request.key), request.key);
  if (lock != nullptr && lock->hold_count() > 0) {
    const bool is_own = lock->hold_count() == 1 && OwnerOf(*lock->oldest_hold()) == request.value;
    if (is_own) return {.status = WriteStatus::kRenewed};
    if (!MayEnd(*lock)) return {.status = WriteStatus::kNative};
    return {.status = rules_.bounds.takes_nothing_new() ? WriteStatus::kOutOfMemory
                                                        : WriteStatus::kTakenOver};
  }
  if (WouldBeGranted(request)) return {.status = WriteStatus::kGranted};
  if (lock != nullptr) return {.reason = Turns::ReasonFor(state_, *lock, {})};
  return {.reason = state_.overrides.are_all_drained() ? DenialReason::kStarting
                                                       : DenialReason::kDrained};
}

std::optional<std::size_t> RedisView::WriteAll(std::span<const WriteRequest> requests,
                                               Attachment& from, Step step,
                                               std::span<WriteResult> written) {
  // Ending what is due on one key may change another.
  for (const WriteRequest& request : requests) {
    rules_.expiry.FindCurrent(state_.table.HashOf(request.key), request.key, step);
  }
  std::uint64_t missing = 0;
  std::uint64_t granted = 0;
  std::size_t last_granted = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint64_t hash = state_.table.HashOf(requests[i].key);
    const LockEntry* lock = state_.table.Find(hash, requests[i].key);
    written[i] = Forecast(requests[i]);
    switch (written[i].status) {
      case WriteStatus::kGranted:
        if (lock == nullptr) ++missing;
        ++granted;
        last_granted = i;
        break;
      case WriteStatus::kRenewed:
      case WriteStatus::kTakenOver:
        break;
      case WriteStatus::kNative:
        rules_.events.EmitRefused(hash, *lock, requests[i].value, from.client, step.now);
        return i;
      default:
        return i;
    }
  }
  auto refusal = rules_.bounds.WhyNoNewLocks(missing);
  if (!refusal && granted > 0) refusal = rules_.bounds.WhyNotMore(from.client, granted);
  if (refusal) {
    written[last_granted] = {.status = WriteRefusalOf(*refusal)};
    return last_granted;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const WriteStatus forecast = written[i].status;
    written[i] = Write(requests[i], from, step);
    assert(written[i].status == forecast);
  }
  return std::nullopt;
}

bool RedisView::MayEnd(const LockEntry& lock) const {
  return state_.options.ends_native_leases || lock.oldest_hold()->is_redis_way();
}

bool RedisView::MayChange(const KeyName& key, const Attachment& from, Step step) {
  const std::uint64_t hash = state_.table.HashOf(key);
  const LockEntry* lock = rules_.expiry.FindCurrent(hash, key, step);
  if (lock == nullptr || lock->hold_count() == 0 || MayEnd(*lock)) return true;
  rules_.events.EmitRefused(hash, *lock, {}, from.client, step.now);
  return false;
}

void RedisView::EndAllHolds(std::uint64_t hash, LockEntry& lock, HoldEnd end, TimeMs now) {
  if (lock.has_plain_hold()) rules_.holds.End(hash, lock, lock.plain, end, now);
  while (lock.contended != nullptr && !lock.contended->holds.empty()) {
    Claim& hold = lock.contended->holds.front();
    // DEL is not a release by the owner, so the owner gets a notice of the loss.
    const bool is_lost = hold.channel() != nullptr && end == HoldEnd::kReleased;
    if (is_lost) rules_.events.SendLoss(hold, end, now);
    rules_.holds.End(hash, lock, hold, end, now);
  }
}

bool RedisView::Release(const KeyName& key, const Attachment& from, Step step) {
  if (!MayChange(key, from, step)) return false;
  const std::uint64_t hash = state_.table.HashOf(key);
  LockEntry* lock = state_.table.Find(hash, key);
  if (lock == nullptr || lock->hold_count() == 0) return false;
  EndAllHolds(hash, *lock, HoldEnd::kReleased, step.now);
  rules_.grants.GrantNext(*lock, step);
  Claims::Discard(state_, hash, *lock);
  return true;
}

ExpiryStatus RedisView::Expire(const ExpiryRequest& request, const Attachment& from, Step step) {
  const bool may_change = MayChange(request.key, from, step);
  if (!may_change) return ExpiryStatus::kUnchanged;
  const std::uint64_t hash = state_.table.HashOf(request.key);
  LockEntry* lock = state_.table.Find(hash, request.key);
  if (lock == nullptr || lock->hold_count() == 0) return ExpiryStatus::kUnchanged;
  if (!request.MayChange(LongestHold(*lock).deadline(), step.now)) return ExpiryStatus::kUnchanged;
  if (request.lease_ms && *request.lease_ms <= 0) {
    Release(request.key, from, step);
    return ExpiryStatus::kChanged;
  }
  if (IsAnyLeaving(*lock)) {
    rules_.events.EmitRefused(hash, *lock, {}, from.client, step.now);
    return ExpiryStatus::kLeaving;
  }
  const DurationMs lease_ms = request.lease_ms.value_or(0);
  if (lock->has_plain_hold()) SetLease(hash, *lock, lock->plain, lease_ms, step.now);
  if (lock->contended == nullptr) return ExpiryStatus::kChanged;
  for (Claim& hold : lock->contended->holds) SetLease(hash, *lock, hold, lease_ms, step.now);
  return ExpiryStatus::kChanged;
}

bool RedisView::IsAnyLeaving(const LockEntry& lock) {
  if (lock.has_plain_hold() && lock.plain.is_leaving()) return true;
  if (lock.contended == nullptr) return false;
  return std::any_of(lock.contended->holds.begin(), lock.contended->holds.end(),
                     [](const Claim& hold) { return hold.is_leaving(); });
}

void RedisView::SetLease(std::uint64_t hash, LockEntry& lock, Hold& hold, DurationMs lease_ms,
                         TimeMs now) {
  const TimeMs end = lease_ms == 0 ? kNever : now + lease_ms;
  const auto recorded_ms = static_cast<DurationMs>(hold.lease_ms);
  hold.SetLeaseMs(lease_ms);
  if (lease_ms != recorded_ms || hold.is_remaining_stored()) state_.LogHold(hash, hold);
  if (!hold.is_claim()) {
    state_.wheel.Schedule(hold, end, TimerClass::kLease);
  } else {
    auto& claim = static_cast<Claim&>(hold);
    const bool is_in_grace = claim.has_session() && claim.attachment == nullptr;
    const TimeMs deadline = claim.deadline();
    rules_.holds.SetLeaseEnd(*lock.contended, claim, end);
    // The grace of the session continues to run.
    if (is_in_grace) {
      state_.ScheduleMember(*lock.contended, claim, std::min(deadline, end), TimerClass::kLease);
    }
  }
  rules_.events.Emit(EventKind::kRenewed, hash, lock, hold, now);
}

std::uint64_t RedisView::Flush(std::uint64_t cursor, std::size_t count,
                               std::optional<std::uint8_t> db, const Attachment& from, Step step) {
  assert(state_.is_in_transaction);
  std::vector<NamedKey> keys;
  std::size_t looked = 0;
  // Locks of other databases are in the same table, so the walk ends when this database has none
  // left.
  const auto is_any_left = [&] {
    return db ? state_.locks_by_db[*db] > 0 : state_.table.size() > 0;
  };
  if (!is_any_left()) return 0;
  do {
    keys.clear();
    cursor = state_.table.ScanGroup(cursor, [&](const LockEntry& lock) {
      ++looked;
      const KeyName key = lock.key();
      if (db && *db != key.db) return;
      keys.push_back({state_.table.HashOf(key), key.db, std::string(key.bytes)});
    });
    for (const NamedKey& key : keys) {
      LockEntry* lock = rules_.expiry.FindCurrent(key.hash, {key.db, key.bytes, key.hash}, step);
      if (lock != nullptr) FlushLock(key.hash, *lock, from, step);
    }
  } while (cursor != 0 && looked < count && is_any_left());
  return is_any_left() ? cursor : 0;
}

void RedisView::FlushLock(std::uint64_t hash, LockEntry& lock, const Attachment& from, Step step) {
  const bool ends_all = state_.options.ends_native_leases;
  if (lock.hold_count() > 0 && MayEnd(lock)) {
    EndAllHolds(hash, lock, HoldEnd::kReleased, step.now);
  } else if (lock.hold_count() > 0) {
    rules_.events.EmitRefused(hash, lock, {}, from.client, step.now);
  }
  if (lock.contended != nullptr) {
    ContendedLock& contended = *lock.contended;
    if (ends_all && !contended.cooldowns.empty()) {
      contended.vacating = Cause::kRequest;
      while (!contended.cooldowns.empty()) Cooldowns::End(state_, contended.cooldowns.front());
    }
    for (auto at = contended.queue.begin(); at != contended.queue.end();) {
      Claim& place = *at;
      ++at;
      if (!place.is_redis_way()) continue;
      rules_.events.EmitPlace(EventKind::kCancelled, place, step.now);
      rules_.wait_queue.Remove(place, Cause::kRequest);
    }
  }
  rules_.grants.GrantNext(lock, step);
  Claims::Discard(state_, hash, lock);
}

bool RedisView::Exists(const LockEntry& lock) {
  if (lock.hold_count() > 0) return true;
  if (lock.contended == nullptr) return false;
  const ContendedLock& contended = *lock.contended;
  return contended.reserved > 0 || !contended.cooldowns.empty() || lock.is_mlock_next();
}

bool RedisView::IsSemaphore(const LockEntry& lock) {
  if (lock.contended == nullptr) return false;
  return std::any_of(lock.contended->holds.begin(), lock.contended->holds.end(),
                     [](const Claim& hold) { return hold.mode.is_shared || hold.mode.limit > 1; });
}

const Hold& RedisView::LongestHold(const LockEntry& lock) {
  const Hold* longest = lock.oldest_hold();
  if (lock.contended == nullptr) return *longest;
  for (const Claim& hold : lock.contended->holds) {
    if (hold.deadline() > longest->deadline()) longest = &hold;
  }
  return *longest;
}

std::optional<DurationMs> RedisView::TimeLeft(const LockEntry& lock, TimeMs now) {
  TimeMs end = 0;
  if (lock.hold_count() > 0) {
    end = LongestHold(lock).deadline();
  } else {
    for (const Cooldown& cooldown : lock.contended->cooldowns)
      end = std::max(end, cooldown.deadline());
    for (const Claim& place : lock.contended->active) {
      if (place.is_reserved) end = std::max(end, TimerOf(place).deadline());
    }
    if (end == 0) end = kNever;
  }
  if (end >= kNever) return std::nullopt;
  return std::max<DurationMs>(end - now, 0);
}

KeyLook RedisView::Look(const KeyName& key, Step step) {
  const LockEntry* lock = rules_.expiry.FindCurrent(state_.table.HashOf(key), key, step);
  return lock == nullptr ? KeyLook() : LookAt(*lock, step.now);
}

KeyLook RedisView::Peek(const KeyName& key, TimeMs now) const {
  const LockEntry* lock = state_.table.Find(state_.table.HashOf(key), key);
  return lock == nullptr ? KeyLook() : LookAt(*lock, now);
}

KeyLook RedisView::LookAt(const LockEntry& lock, TimeMs now) {
  KeyLook look;
  if (!Exists(lock)) return look;
  look.exists = true;
  look.ttl_ms = TimeLeft(lock, now);
  const Hold* hold = lock.oldest_hold();
  if (hold == nullptr) return look;
  look.is_held = true;
  look.is_semaphore = IsSemaphore(lock);
  look.is_redis_way = hold->is_redis_way();
  look.owner = OwnerOf(*hold);
  return look;
}

std::uint64_t RedisView::Scan(
    std::uint64_t cursor, std::size_t count, std::uint8_t db, MatchBudget& budget,
    const std::function<void(const KeyName&, bool is_semaphore)>& visit) const {
  std::size_t looked_at = 0;
  do {
    cursor = state_.table.ScanGroup(cursor, [&](const LockEntry& lock) {
      ++looked_at;
      budget.ChargeLook();
      const KeyName key = lock.key();
      if (key.db == db && Exists(lock)) visit(key, IsSemaphore(lock));
    });
  } while (cursor != 0 && looked_at < count && !budget.is_spent());
  return cursor;
}

}  // namespace fairlock::engine
