#include "server/engine/rules/snapshots.h"

#include <algorithm>

#include "server/engine/rules/holds.h"
#include "server/engine/state/claim_options.h"

namespace fairlock::engine {

namespace {

// As the MLOCK named them, if all of its claims are left.
std::vector<std::string_view> KeysOf(const MultiLock& multi_lock) {
  if (!multi_lock.is_whole()) return {multi_lock.keys().begin(), multi_lock.keys().end()};
  std::vector<std::string_view> keys;
  for (const Claim* claim : multi_lock.claims) keys.push_back(claim->lock.key().bytes);
  return keys;
}

}  // namespace

KeptClaim Snapshots::KeepOptions(const Claim& claim) const {
  KeptClaim kept{.owner = claim.owner(),
                 .mode = claim.mode,
                 .is_redis_way = claim.is_redis_way(),
                 .lease_ms = static_cast<DurationMs>(claim.lease_ms),
                 .label = state_.labels.Text(claim.label)};
  if (claim.extras == nullptr) return kept;
  kept.session_grace_ms = claim.extras->session_grace_ms;
  kept.min_hold_ms = claim.extras->min_hold_ms;
  kept.meta = claim.meta();
  if (claim.channel() != nullptr) kept.channel = claim.channel()->name;
  if (claim.multi_lock() != nullptr) kept.mlock_keys = KeysOf(*claim.multi_lock());
  return kept;
}

KeptHold Snapshots::KeptOf(const LockEntry& lock, Hold& hold, bool with_time_left,
                           TimeMs now) const {
  KeptHold kept{.key = lock.key(), .token = hold.token};
  if (hold.is_claim()) {
    kept.claim = KeepOptions(static_cast<const Claim&>(hold));
  } else {
    kept.claim.owner = lock.plain_owner();
    kept.claim.mode = lock.plain.mode();
    kept.claim.meta = lock.plain_meta();
    kept.claim.is_redis_way = hold.is_redis_way();
    kept.claim.lease_ms = static_cast<DurationMs>(hold.lease_ms);
    kept.claim.label = state_.labels.Text(hold.label);
  }
  const TimeMs end = Holds::LeaseEndOf(hold);
  if (with_time_left && end < kNever) kept.left_ms = std::max<DurationMs>(end - now, 1);
  hold.set_left_kept(kept.left_ms.has_value());
  return kept;
}

KeptPlace Snapshots::KeptOf(Claim& place) const {
  place.is_kept = true;
  KeptPlace kept{.key = place.lock.key(),
                 .arrival = place.arrival,
                 .claim = KeepOptions(place),
                 .keep_ms = static_cast<DurationMs>(place.keep_ms)};
  const DurationMs wait_ms = ChannelWaitOf(FirstClaim(place));
  if (kept.claim.channel && wait_ms < kForever) kept.wait_ms = wait_ms;
  return kept;
}

std::optional<KeptHold> Snapshots::FindKeptHold(const ChangeLog::Name& name) {
  LockEntry* lock = state_.table.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    return Holds::FindToken(entry, name.number) != nullptr;
  });
  if (lock == nullptr) return std::nullopt;
  return KeptOf(*lock, const_cast<Hold&>(*Holds::FindToken(*lock, name.number)), false, 0);
}

std::optional<KeptPlace> Snapshots::FindKeptPlace(const ChangeLog::PlaceName& name,
                                                  std::string_view owner) {
  Claim* found = nullptr;
  state_.table.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    if (entry.contended == nullptr) return false;
    found = state_.table.FindClaim(entry, owner);
    return found != nullptr && found->arrival == name.arrival;
  });
  const bool is_there = found != nullptr && found->arrival == name.arrival && found->is_place();
  if (!is_there) return std::nullopt;
  return KeptOf(*found);
}

std::optional<KeptCooling> Snapshots::FindKeptCooling(const ChangeLog::Name& name, TimeMs now) {
  Cooldown* found = nullptr;
  state_.table.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    if (entry.contended == nullptr) return false;
    auto& cooldowns = entry.contended->cooldowns;
    const auto at =
        std::find_if(cooldowns.rbegin(), cooldowns.rend(),
                     [&](const Cooldown& cooldown) { return cooldown.token == name.number; });
    if (at != cooldowns.rend()) found = &*at;
    return found != nullptr;
  });
  if (found == nullptr) return std::nullopt;
  found->is_kept = true;
  return KeptCooling{.key = found->lock.key(),
                     .token = found->token,
                     .mode = found->mode,
                     .left_ms = std::max<DurationMs>(found->deadline() - now, 1)};
}

void Snapshots::KeepAll(LockEntry& lock, const KeptDetail& extent, TimeMs now, KeptSink& sink) {
  if (lock.has_plain_hold()) sink.Take(KeptOf(lock, lock.plain, extent.with_time_left, now));
  if (lock.contended == nullptr) return;
  for (Claim& hold : lock.contended->holds) {
    sink.Take(KeptOf(lock, hold, extent.with_time_left, now));
  }
  for (Cooldown& cooldown : lock.contended->cooldowns) {
    cooldown.is_kept = true;
    sink.Take(KeptCooling{.key = lock.key(),
                          .token = cooldown.token,
                          .mode = cooldown.mode,
                          .left_ms = std::max<DurationMs>(cooldown.deadline() - now, 1)});
  }
  for (Claim& place : lock.contended->queue) {
    const bool is_first = &FirstClaim(place) == &place;
    const bool is_kept = place.keep_ms > 0 || extent.with_all_places;
    if (is_first && is_kept && place.state != ClaimState::kMarked) sink.Take(KeptOf(place));
  }
}

std::uint64_t Snapshots::ScanKept(std::uint64_t cursor, std::size_t count, const KeptDetail& extent,
                                  TimeMs now, KeptSink& sink) {
  std::size_t visited = 0;
  do {
    cursor = state_.table.ScanGroup(cursor, [&](LockEntry& lock) {
      ++visited;
      KeepAll(lock, extent, now, sink);
    });
  } while (cursor != 0 && visited < count);
  return cursor;
}

std::uint64_t Snapshots::ScanLongLeases(std::uint64_t cursor, std::size_t count,
                                        DurationMs lease_ms_min, TimeMs then, TimeMs now,
                                        KeptSink& sink) {
  std::size_t visited = 0;
  do {
    cursor = state_.table.ScanGroup(cursor, [&](LockEntry& lock) {
      ++visited;
      const auto look_at = [&](Hold& hold) {
        const auto lease_ms = static_cast<DurationMs>(hold.lease_ms);
        if (lease_ms < lease_ms_min) return;
        const auto tenths_passed = [&](TimeMs time) {
          return (lease_ms - (Holds::LeaseEndOf(hold) - time)) * 10 / lease_ms;
        };
        if (tenths_passed(then) != tenths_passed(now)) sink.Take(KeptOf(lock, hold, true, now));
      };
      if (lock.has_plain_hold()) look_at(lock.plain);
      if (lock.contended == nullptr) return;
      for (Claim& hold : lock.contended->holds) look_at(hold);
    });
  } while (cursor != 0 && visited < count);
  return cursor;
}

}  // namespace fairlock::engine
