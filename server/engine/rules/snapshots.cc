#include <algorithm>

#include "server/engine/rules/engine_rules.h"
#include "server/engine/rules/holds.h"
#include "server/engine/state/notify_channel.h"

namespace fairlock::engine {

namespace {

// The keys in the order in which the MLOCK named them, if all of its claims remain.
std::vector<std::string_view> KeysOf(const MultiLock& multi_lock) {
  if (!multi_lock.is_whole()) return {multi_lock.keys().begin(), multi_lock.keys().end()};
  std::vector<std::string_view> keys;
  for (const Claim* claim : multi_lock.claims) keys.push_back(claim->lock.key().bytes);
  return keys;
}

rows::HoldId IdOf(const LockEntry& lock, Token token) {
  return {.db = lock.key().db, .token = token, .key = lock.key().bytes};
}

}  // namespace

rows::Claim Snapshots::RowOf(const Claim& claim) const {
  rows::Claim row{.owner = claim.owner(),
                  .mode = claim.mode,
                  .is_redis_way = claim.is_redis_way(),
                  .lease_ms = static_cast<DurationMs>(claim.lease_ms),
                  .label = state_.labels.Text(claim.label)};
  if (claim.extras == nullptr) return row;
  row.terms = claim.extras->terms;
  row.meta = claim.meta();
  if (claim.channel() != nullptr) row.channel = claim.channel()->name;
  if (claim.multi_lock() != nullptr) row.mlock_keys = KeysOf(*claim.multi_lock());
  return row;
}

rows::Hold Snapshots::RowOf(const LockEntry& lock, const Hold& hold, bool with_time_left,
                            TimeMs now) const {
  rows::Hold row{.id = IdOf(lock, hold.token), .is_leaving = hold.is_leaving()};
  if (hold.is_claim()) {
    row.claim = RowOf(static_cast<const Claim&>(hold));
  } else {
    row.claim.owner = lock.plain_owner();
    row.claim.mode = lock.plain.mode();
    row.claim.meta = lock.plain_meta();
    row.claim.is_redis_way = hold.is_redis_way();
    row.claim.lease_ms = static_cast<DurationMs>(hold.lease_ms);
    row.claim.label = state_.labels.Text(hold.label);
  }
  const TimeMs end = Holds::LeaseEndOf(hold);
  const bool is_wanted = with_time_left || hold.is_remaining_stored();
  if (is_wanted && end < kNever) row.remaining_ms = std::max<DurationMs>(end - now, 1);
  return row;
}

rows::Place Snapshots::PlaceRowOf(const Claim& place) const {
  rows::Place row{.arrival = place.arrival,
                  .db = place.lock.key().db,
                  .key = place.lock.key().bytes,
                  .claim = RowOf(place),
                  .keep_ms = static_cast<DurationMs>(place.keep_ms)};
  const DurationMs wait_ms = ChannelWaitOf(FirstClaim(place));
  if (row.claim.channel && wait_ms < kForever) row.wait_ms = wait_ms;
  return row;
}

rows::Cooldown Snapshots::RowOf(const Cooldown& cooldown, TimeMs now) {
  return {.id = IdOf(cooldown.lock, cooldown.token),
          .mode = cooldown.mode,
          .length_ms = std::max<DurationMs>(cooldown.deadline() - now, 1)};
}

std::optional<rows::Hold> Snapshots::FindHoldRow(const ChangeLog::Name& name) {
  LockEntry* lock = state_.table.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    return Holds::FindToken(entry, name.number) != nullptr;
  });
  if (lock == nullptr) return std::nullopt;
  auto& hold = const_cast<Hold&>(*Holds::FindToken(*lock, name.number));
  hold.set_remaining_stored(false);
  return RowOf(*lock, hold, false, 0);
}

std::optional<rows::Place> Snapshots::FindPlaceRow(const ChangeLog::PlaceName& name,
                                                   std::string_view owner) {
  Claim* found = nullptr;
  state_.table.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    if (entry.contended == nullptr) return false;
    found = state_.table.FindClaim(entry, owner);
    return found != nullptr && found->arrival == name.arrival;
  });
  const bool is_there = found != nullptr && found->arrival == name.arrival && found->is_place();
  if (!is_there) return std::nullopt;
  found->is_stored = true;
  return PlaceRowOf(*found);
}

std::optional<rows::Cooldown> Snapshots::FindCooldownRow(const ChangeLog::Name& name, TimeMs now) {
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
  found->is_stored = true;
  return RowOf(*found, now);
}

void Snapshots::WriteRows(const LockEntry& lock, const RowDetail& extent, TimeMs now,
                          RowSink& sink) const {
  if (lock.has_plain_hold()) sink.Take(RowOf(lock, lock.plain, extent.with_time_left, now));
  if (lock.contended == nullptr) return;
  for (const Claim& hold : lock.contended->holds) {
    sink.Take(RowOf(lock, hold, extent.with_time_left, now));
  }
  for (const Cooldown& cooldown : lock.contended->cooldowns) sink.Take(RowOf(cooldown, now));
  for (const Claim& place : lock.contended->queue) {
    const bool is_first = &FirstClaim(place) == &place;
    const bool is_wanted = place.keep_ms > 0 || extent.with_all_places;
    if (is_first && is_wanted && place.state != ClaimState::kMarked) sink.Take(PlaceRowOf(place));
  }
}

std::uint64_t Snapshots::ScanRows(std::uint64_t cursor, std::size_t count, const RowDetail& extent,
                                  TimeMs now, RowSink& sink) const {
  std::size_t visited = 0;
  do {
    cursor = state_.table.ScanGroup(cursor, [&](const LockEntry& lock) {
      ++visited;
      WriteRows(lock, extent, now, sink);
    });
  } while (cursor != 0 && visited < count);
  return cursor;
}

std::uint64_t Snapshots::ScanLongLeases(std::uint64_t cursor, std::size_t count,
                                        DurationMs lease_ms_min, TimeMs then, TimeMs now,
                                        RowSink& sink) {
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
        if (tenths_passed(then) == tenths_passed(now)) return;
        hold.set_remaining_stored(true);
        sink.Take(RowOf(lock, hold, true, now));
      };
      if (lock.has_plain_hold()) look_at(lock.plain);
      if (lock.contended == nullptr) return;
      for (Claim& hold : lock.contended->holds) look_at(hold);
    });
  } while (cursor != 0 && visited < count);
  return cursor;
}

}  // namespace fairlock::engine
