#include <algorithm>
#include <cassert>
#include <memory>
#include <string>

#include "server/engine/rules/engine_rules.h"

namespace fairlock::engine {

namespace {

bool IsPlain(const rows::Claim& claim) {
  return claim.mode.limit == 1 && !claim.mode.is_shared && claim.terms == Terms{} &&
         !claim.channel && claim.mlock_keys.empty();
}

KeyName NameOf(const rows::HoldId& id) { return {.db = id.db, .bytes = id.key}; }

std::vector<KeyName> NamesOf(std::uint8_t db, const std::vector<std::string_view>& keys) {
  std::vector<KeyName> names;
  for (const std::string_view key : keys) names.push_back({.db = db, .bytes = key});
  return names;
}

// The multi-lock with this token and these keys. Holds of different keys can have the same token if
// they come from different partitions of a fleet that was copied.
MultiLock* FindMultiLock(const EngineState& state, Token token, const std::vector<KeyName>& keys) {
  MultiLock* const any = state.held_multi_locks.Find(token);
  if (any == nullptr || any->IsOf(keys)) return any;
  for (const KeyName& key : keys) {
    const LockEntry* const lock = state.table.Find(state.table.HashOf(key), key);
    const Hold* const hold = lock != nullptr ? Holds::FindToken(*lock, token) : nullptr;
    if (hold != nullptr && hold->is_claim()) return static_cast<const Claim*>(hold)->multi_lock();
  }
  return nullptr;
}

}  // namespace

LockEntry& Restoration::LockToRestore(const KeyName& key, const PlainTerms& terms) {
  const std::uint64_t hash = state_.table.HashOf(key);
  if (LockEntry* lock = state_.table.Find(hash, key)) return *lock;
  ++state_.counts.locks;
  ++state_.locks_by_db[key.db];
  return state_.table.Create(hash, key, terms);
}

Claim& Restoration::RestoreClaim(LockEntry& lock, const rows::Claim& row) {
  lock.NeedContended();
  Claim& claim = state_.table.CreateClaim(lock, row.owner);
  claim.mode = row.mode;
  claim.set_redis_way(row.is_redis_way);
  claim.SetLeaseMs(row.lease_ms);
  claim.label = state_.labels.Use(row.label) & kLabelRefMax;
  if (row.meta) {
    claim.NeedExtras().meta = std::make_shared<const std::string>(*row.meta);
  }
  if (row.terms != Terms{}) claim.NeedExtras().terms = row.terms;
  if (row.channel) {
    claim.NeedExtras().channel = state_.channels.Need(*row.channel);
    claim.extras->channel->is_open = false;
  }
  return claim;
}

void Restoration::Restore(const rows::Hold& row, DurationMs restart_grace_ms, TimeMs now) {
  const bool is_plain = IsPlain(row.claim);
  PlainTerms terms;
  if (is_plain) terms = {row.claim.owner, row.claim.mode.is_limit_given, row.claim.meta};
  LockEntry& lock = LockToRestore(NameOf(row.id), terms);
  const DurationMs length_ms = row.remaining_ms.value_or(row.claim.lease_ms);
  const TimeMs lease_end = row.claim.lease_ms == 0 ? kNever : now + length_ms;
  Hold* restored = &lock.plain;
  if (is_plain && !lock.has_plain_hold() && lock.contended == nullptr) {
    lock.plain.label = state_.labels.Use(row.claim.label) & kLabelRefMax;
    lock.plain.SetLeaseMs(row.claim.lease_ms);
    lock.plain.set_redis_way(row.claim.is_redis_way);
    rules_.holds.Start(lock.plain, row.id.token, lease_end, now);
  } else {
    Claim& claim = RestoreClaim(lock, row.claim);
    if (!row.claim.mlock_keys.empty()) Claims::AddToMultiLock(MultiLockToRestore(row), claim);
    rules_.holds.Add(claim, row.id.token, nullptr, now);
    rules_.holds.SetLeaseEnd(*lock.contended, claim, lease_end);
    if (row.claim.terms.session_grace_ms) {
      const DurationMs grace_ms = std::max(*row.claim.terms.session_grace_ms, restart_grace_ms);
      state_.ScheduleMember(*lock.contended, claim, std::min(lease_end, now + grace_ms),
                            TimerClass::kLease);
    }
    restored = &claim;
  }
  restored->set_remaining_stored(row.remaining_ms.has_value());
  restored->set_leaving(row.is_leaving);
  --state_.counts.granted;  // undoes the count of Holds::Add: this process did not grant it
  state_.counts.newest_token = std::max(state_.counts.newest_token, row.id.token);
}

void Restoration::Restore(const rows::Place& row, DurationMs restart_grace_ms, TimeMs now) {
  Claim* place = nullptr;
  if (row.claim.mlock_keys.empty()) {
    place = &RestorePlace({.db = row.db, .bytes = row.key}, row, now);
  } else {
    const std::vector<KeyName> names = NamesOf(row.db, row.claim.mlock_keys);
    auto* multi_lock = new MultiLock(names);
    for (const KeyName& name : names) {
      Claim& claim = RestorePlace(name, row, now);
      Claims::AddToMultiLock(*multi_lock, claim);
      ++claim.lock.contended->multi_locks_in_queue;
    }
    place = multi_lock->claims.front();
  }
  place->is_stored = true;
  if (place->channel() != nullptr) {
    place->extras->wait_ms = row.wait_ms.value_or(kForever);
    place->extras->wait_end = std::min(now + place->extras->wait_ms, kNever);
  }
  if (row.keep_ms > 0) {
    rules_.places.Keep(*place, now);
  } else {
    rules_.places.Skip(*place, now);
    rules_.wait_queue.Schedule(*place, now + restart_grace_ms, TimerClass::kReservation);
  }
  state_.next_arrival = std::max(state_.next_arrival, row.arrival + 1);
}

void Restoration::Restore(const rows::Cooldown& row, TimeMs now) {
  LockEntry& lock = LockToRestore(NameOf(row.id), {});
  ContendedLock& contended = lock.NeedContended();
  auto* cooldown = new Cooldown(lock, row.mode, row.id.token);
  cooldown->is_stored = true;
  contended.slots.Take(cooldown->mode);
  contended.cooldowns.push_back(*cooldown);
  ++state_.counts.cooldowns;
  state_.ScheduleMember(contended, *cooldown, now + row.remaining_ms.value_or(row.length_ms),
                        TimerClass::kCooling);
}

MultiLock& Restoration::MultiLockToRestore(const rows::Hold& row) {
  const std::vector<KeyName> names = NamesOf(row.id.db, row.claim.mlock_keys);
  if (MultiLock* found = FindMultiLock(state_, row.id.token, names)) return *found;
  auto* multi_lock = new MultiLock(names);
  multi_lock->token = row.id.token;
  state_.held_multi_locks.Insert(*multi_lock);
  return *multi_lock;
}

Claim& Restoration::RestorePlace(const KeyName& key, const rows::Place& row, TimeMs now) {
  LockEntry& lock = LockToRestore(key, {});
  Claim& claim = RestoreClaim(lock, row.claim);
  ContendedLock& contended = *lock.contended;
  claim.arrival = row.arrival;
  claim.number = contended.next_number++;
  claim.joined = now;
  claim.SetSince(now);
  claim.keep_ms = static_cast<std::uint32_t>(row.keep_ms);
  rules_.wait_queue.Link(contended);
  contended.queue.push_back(claim);
  contended.active.push_back(claim);
  ++state_.counts.places;
  return claim;
}

// The first token may be lower than the one that the clock gave when the process started, because
// the clock may have been set back since then. Nothing has been granted yet.
void Restoration::EndRestore(Token first_token, Step step) {
  assert(first_token > state_.counts.newest_token);
  state_.next_token = first_token;
  for (ContendedLock& contended : state_.queues)
    rules_.grants.GrantNext(contended.queue.front().lock, step);
}

}  // namespace fairlock::engine
