#include "server/engine/rules/restoration.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <string>

namespace fairlock::engine {

namespace {

bool IsPlain(const KeptClaim& claim) {
  return claim.mode.limit == 1 && !claim.mode.is_shared && !claim.session_grace_ms &&
         claim.min_hold_ms == 0 && !claim.channel && claim.mlock_keys.empty();
}

std::vector<KeyName> NamesOf(std::uint8_t db, const std::vector<std::string_view>& keys) {
  std::vector<KeyName> names;
  for (const std::string_view key : keys) names.push_back({.db = db, .bytes = key});
  return names;
}

}  // namespace

LockEntry& Restoration::LockToRestore(const KeyName& key, const PlainTerms& terms) {
  const std::uint64_t hash = state_.table.HashOf(key);
  if (LockEntry* lock = state_.table.Find(hash, key)) return *lock;
  ++state_.counts.locks;
  ++state_.locks_by_db[key.db];
  return state_.table.Create(hash, key, terms);
}

Claim& Restoration::RestoreClaim(LockEntry& lock, const KeptClaim& kept) {
  lock.NeedContended();
  Claim& claim = state_.table.CreateClaim(lock, kept.owner);
  claim.mode = kept.mode;
  claim.set_redis_way(kept.is_redis_way);
  claim.SetLeaseMs(kept.lease_ms);
  claim.label = state_.labels.Use(kept.label) & kLabelRefMax;
  if (kept.meta) {
    claim.NeedExtras().meta = std::make_shared<const std::string>(*kept.meta);
  }
  if (kept.session_grace_ms) claim.NeedExtras().session_grace_ms = kept.session_grace_ms;
  if (kept.min_hold_ms > 0) claim.NeedExtras().min_hold_ms = kept.min_hold_ms;
  if (kept.channel) {
    claim.NeedExtras().channel = state_.channels.Need(*kept.channel);
    claim.extras->channel->is_open = false;
  }
  return claim;
}

void Restoration::Restore(const KeptHold& kept, DurationMs restart_grace_ms, TimeMs now) {
  const bool is_plain = IsPlain(kept.claim);
  PlainTerms terms;
  if (is_plain) terms = {kept.claim.owner, kept.claim.mode.is_limit_given, kept.claim.meta};
  LockEntry& lock = LockToRestore(kept.key, terms);
  const DurationMs length_ms = kept.left_ms.value_or(kept.claim.lease_ms);
  const TimeMs lease_end = kept.claim.lease_ms == 0 ? kNever : now + length_ms;
  Hold* restored = &lock.plain;
  if (is_plain && !lock.has_plain_hold() && lock.contended == nullptr) {
    lock.plain.label = state_.labels.Use(kept.claim.label) & kLabelRefMax;
    lock.plain.SetLeaseMs(kept.claim.lease_ms);
    lock.plain.set_redis_way(kept.claim.is_redis_way);
    holds_.Start(lock.plain, kept.token, lease_end, now);
  } else {
    Claim& claim = RestoreClaim(lock, kept.claim);
    if (!kept.claim.mlock_keys.empty()) claims_.AddToMultiLock(MultiLockToRestore(kept), claim);
    holds_.Add(claim, kept.token, nullptr, now);
    holds_.SetLeaseEnd(*lock.contended, claim, lease_end);
    if (kept.claim.session_grace_ms) {
      const DurationMs grace_ms = std::max(*kept.claim.session_grace_ms, restart_grace_ms);
      state_.ScheduleMember(*lock.contended, claim, std::min(lease_end, now + grace_ms),
                            TimerClass::kLease);
    }
    restored = &claim;
  }
  restored->set_left_kept(kept.left_ms.has_value());
  --state_.counts.granted;  // it was not granted by this process
  state_.counts.newest_token = std::max(state_.counts.newest_token, kept.token);
}

void Restoration::Restore(const KeptPlace& kept, DurationMs restart_grace_ms, TimeMs now) {
  Claim* place = nullptr;
  if (kept.claim.mlock_keys.empty()) {
    place = &RestorePlace(kept.key, kept, now);
  } else {
    const std::vector<KeyName> names = NamesOf(kept.key.db, kept.claim.mlock_keys);
    auto* multi_lock = new MultiLock(names);
    for (const KeyName& name : names) {
      Claim& claim = RestorePlace(name, kept, now);
      claims_.AddToMultiLock(*multi_lock, claim);
      ++claim.lock.contended->multi_locks_in_queue;
    }
    place = multi_lock->claims.front();
  }
  place->is_kept = true;
  if (place->channel() != nullptr) {
    place->extras->wait_ms = kept.wait_ms.value_or(kForever);
    place->extras->wait_end = std::min(now + place->extras->wait_ms, kNever);
  }
  if (kept.keep_ms > 0) {
    places_.Keep(*place, now);
  } else {
    places_.Skip(*place, now);
    wait_queue_.Schedule(*place, now + restart_grace_ms, TimerClass::kReservation);
  }
  state_.next_arrival = std::max(state_.next_arrival, kept.arrival + 1);
}

void Restoration::Restore(const KeptCooling& kept, TimeMs now) {
  LockEntry& lock = LockToRestore(kept.key, {});
  ContendedLock& contended = lock.NeedContended();
  auto* cooldown = new Cooldown(lock, kept.mode, kept.token);
  cooldown->is_kept = true;
  contended.slots.Take(cooldown->mode);
  contended.cooldowns.push_back(*cooldown);
  ++state_.counts.cooldowns;
  state_.ScheduleMember(contended, *cooldown, now + kept.left_ms, TimerClass::kCooling);
}

MultiLock& Restoration::MultiLockToRestore(const KeptHold& kept) {
  if (MultiLock* multi_lock = state_.held_multi_locks.Find(kept.token)) return *multi_lock;
  auto* multi_lock = new MultiLock(NamesOf(kept.key.db, kept.claim.mlock_keys));
  multi_lock->token = kept.token;
  state_.held_multi_locks.Insert(*multi_lock);
  return *multi_lock;
}

Claim& Restoration::RestorePlace(const KeyName& key, const KeptPlace& kept, TimeMs now) {
  LockEntry& lock = LockToRestore(key, {});
  Claim& claim = RestoreClaim(lock, kept.claim);
  ContendedLock& contended = *lock.contended;
  claim.arrival = kept.arrival;
  claim.number = contended.next_number++;
  claim.joined = now;
  claim.SetSince(now);
  claim.keep_ms = static_cast<std::uint32_t>(kept.keep_ms);
  wait_queue_.Link(contended);
  contended.queue.push_back(claim);
  contended.active.push_back(claim);
  ++state_.counts.places;
  return claim;
}

void Restoration::EndRestore(Token first_token, Step step) {
  assert(first_token >= state_.next_token && first_token > state_.counts.newest_token);
  state_.next_token = first_token;
  for (ContendedLock& contended : state_.queues)
    grants_.GrantNext(contended.queue.front().lock, step);
}

}  // namespace fairlock::engine
