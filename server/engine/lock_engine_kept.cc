// What is kept of the state: how it leaves the engine, and how it comes back after a restart.

#include <algorithm>
#include <cassert>

#include "server/engine/lock_engine.h"

namespace fairlock::engine {

namespace {

bool IsPlain(const KeptClaim& claim) {
  return claim.mode.limit == 1 && !claim.mode.is_shared && !claim.session_grace_ms &&
         claim.min_hold_ms == 0 && !claim.channel && claim.mlock_keys.empty();
}

std::optional<DurationMs> SessionGraceOf(const Hold& hold) {
  if (!hold.is_claim()) return std::nullopt;
  const auto& claim = static_cast<const Claim&>(hold);
  return claim.extras == nullptr ? std::nullopt : claim.extras->session_grace_ms;
}

DurationMs MinHoldOf(const Claim& claim) {
  return claim.extras == nullptr ? 0 : claim.extras->min_hold_ms;
}

bool HasChannel(const Hold& hold, std::optional<std::string_view> name) {
  const NotifyChannel* channel =
      hold.is_claim() ? static_cast<const Claim&>(hold).channel() : nullptr;
  return channel == nullptr ? !name : name == channel->name;
}

// With NOTIFY; kForever: without end.
DurationMs WaitOf(const Claim& place) {
  return place.extras == nullptr ? 0 : place.extras->wait_ms;
}

// As the MLOCK named them, if all of its claims are left.
std::vector<std::string_view> KeysOf(const Group& group) {
  if (!group.is_whole()) return {group.keys().begin(), group.keys().end()};
  std::vector<std::string_view> keys;
  for (const Claim* claim : group.claims) keys.push_back(claim->lock.key().bytes);
  return keys;
}

std::vector<KeyName> NamesOf(std::uint8_t db, const std::vector<std::string_view>& keys) {
  std::vector<KeyName> names;
  for (const std::string_view key : keys) names.push_back({.db = db, .bytes = key});
  return names;
}

}  // namespace

bool LockEngine::BringsOptions(const Hold& hold, const LockRequest& request) const {
  return hold.is_redis_way() || request.session_grace_ms != SessionGraceOf(hold) ||
         (request.meta && request.meta != MetaOf(hold)) ||
         (request.notify && !HasChannel(hold, request.notify)) ||
         (request.label && *request.label != labels_.Text(hold.label));
}

bool LockEngine::HasOptions(const Claim& place, const LockRequest& request) const {
  return place.mode == request.mode() && place.is_redis_way() == request.is_redis_way &&
         place.keep_ms == request.keep_ms &&
         static_cast<DurationMs>(place.lease_ms) == LeaseOf(request) &&
         request.session_grace_ms == SessionGraceOf(place) &&
         request.min_hold_ms == MinHoldOf(place) && request.meta == place.meta() &&
         HasChannel(place, request.notify) &&
         (!request.notify || WaitOf(request) == engine::WaitOf(place)) &&
         LabelOf(request, place.lock.key().bytes) == labels_.Text(place.label);
}

KeptClaim LockEngine::KeepOptions(const Claim& claim) const {
  KeptClaim kept{.owner = claim.owner(),
                 .mode = claim.mode,
                 .is_redis_way = claim.is_redis_way(),
                 .lease_ms = static_cast<DurationMs>(claim.lease_ms),
                 .label = labels_.Text(claim.label)};
  if (claim.extras == nullptr) return kept;
  kept.session_grace_ms = claim.extras->session_grace_ms;
  kept.min_hold_ms = claim.extras->min_hold_ms;
  kept.meta = claim.meta();
  if (claim.channel() != nullptr) kept.channel = claim.channel()->name;
  if (claim.group() != nullptr) kept.mlock_keys = KeysOf(*claim.group());
  return kept;
}

KeptHold LockEngine::KeptOf(const LockEntry& lock, Hold& hold, bool with_time_left,
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
    kept.claim.label = labels_.Text(hold.label);
  }
  const TimeMs end = LeaseEndOf(hold);
  if (with_time_left && end < kNever) kept.left_ms = std::max<DurationMs>(end - now, 1);
  hold.set_left_kept(kept.left_ms.has_value());
  return kept;
}

KeptPlace LockEngine::KeptOf(Claim& place) const {
  place.is_kept = true;
  KeptPlace kept{.key = place.lock.key(),
                 .arrival = place.arrival,
                 .claim = KeepOptions(place),
                 .keep_ms = static_cast<DurationMs>(place.keep_ms)};
  const DurationMs wait_ms = engine::WaitOf(FirstClaim(place));
  if (kept.claim.channel && wait_ms < kForever) kept.wait_ms = wait_ms;
  return kept;
}

std::optional<KeptHold> LockEngine::FindKeptHold(const ChangeLog::Name& name) {
  LockEntry* lock = table_.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    return FindToken(entry, name.number) != nullptr;
  });
  if (lock == nullptr) return std::nullopt;
  return KeptOf(*lock, const_cast<Hold&>(*FindToken(*lock, name.number)), false, 0);
}

std::optional<KeptPlace> LockEngine::FindKeptPlace(const ChangeLog::PlaceName& name,
                                                   std::string_view owner) {
  Claim* found = nullptr;
  table_.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    if (entry.detail == nullptr) return false;
    found = table_.FindClaim(entry, owner);
    return found != nullptr && found->arrival == name.arrival;
  });
  const bool is_there = found != nullptr && found->arrival == name.arrival && found->is_place();
  if (!is_there) return std::nullopt;
  return KeptOf(*found);
}

std::optional<KeptCooling> LockEngine::FindKeptCooling(const ChangeLog::Name& name, TimeMs now) {
  CoolingRoom* found = nullptr;
  table_.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    if (entry.detail == nullptr) return false;
    auto& cooling = entry.detail->cooling;
    const auto at = std::find_if(cooling.rbegin(), cooling.rend(), [&](const CoolingRoom& room) {
      return room.token == name.number;
    });
    if (at != cooling.rend()) found = &*at;
    return found != nullptr;
  });
  if (found == nullptr) return std::nullopt;
  found->is_kept = true;
  return KeptCooling{.key = found->lock.key(),
                     .token = found->token,
                     .mode = found->mode,
                     .left_ms = std::max<DurationMs>(found->deadline() - now, 1)};
}

void LockEngine::KeepAll(LockEntry& lock, const KeptDetail& detail, TimeMs now, KeptSink& sink) {
  if (lock.has_plain_hold()) sink.Take(KeptOf(lock, lock.plain, detail.with_time_left, now));
  if (lock.detail == nullptr) return;
  for (Claim& hold : lock.detail->holds) {
    sink.Take(KeptOf(lock, hold, detail.with_time_left, now));
  }
  for (CoolingRoom& room : lock.detail->cooling) {
    room.is_kept = true;
    sink.Take(KeptCooling{.key = lock.key(),
                          .token = room.token,
                          .mode = room.mode,
                          .left_ms = std::max<DurationMs>(room.deadline() - now, 1)});
  }
  for (Claim& place : lock.detail->line) {
    const bool is_first = &FirstClaim(place) == &place;
    const bool is_kept = place.keep_ms > 0 || detail.with_all_places;
    if (is_first && is_kept && place.state != ClaimState::kMarked) sink.Take(KeptOf(place));
  }
}

std::uint64_t LockEngine::ScanKept(std::uint64_t cursor, std::size_t count,
                                   const KeptDetail& detail, TimeMs now, KeptSink& sink) {
  std::size_t visited = 0;
  do {
    cursor = table_.ScanGroup(cursor, [&](LockEntry& lock) {
      ++visited;
      KeepAll(lock, detail, now, sink);
    });
  } while (cursor != 0 && visited < count);
  return cursor;
}

std::uint64_t LockEngine::ScanLongLeases(std::uint64_t cursor, std::size_t count,
                                         DurationMs lease_ms_min, TimeMs then, TimeMs now,
                                         KeptSink& sink) {
  std::size_t visited = 0;
  do {
    cursor = table_.ScanGroup(cursor, [&](LockEntry& lock) {
      ++visited;
      const auto look_at = [&](Hold& hold) {
        const auto lease_ms = static_cast<DurationMs>(hold.lease_ms);
        if (lease_ms < lease_ms_min) return;
        const auto tenths_passed = [&](TimeMs time) {
          return (lease_ms - (LeaseEndOf(hold) - time)) * 10 / lease_ms;
        };
        if (tenths_passed(then) != tenths_passed(now)) sink.Take(KeptOf(lock, hold, true, now));
      };
      if (lock.has_plain_hold()) look_at(lock.plain);
      if (lock.detail == nullptr) return;
      for (Claim& hold : lock.detail->holds) look_at(hold);
    });
  } while (cursor != 0 && visited < count);
  return cursor;
}

LockEntry& LockEngine::LockToRestore(const KeyName& key, const PlainTerms& terms) {
  const std::uint64_t hash = table_.HashOf(key);
  if (LockEntry* lock = table_.Find(hash, key)) return *lock;
  ++counts_.locks;
  ++locks_by_db_[key.db];
  return table_.Create(hash, key, terms);
}

Claim& LockEngine::RestoreClaim(LockEntry& lock, const KeptClaim& kept) {
  lock.NeedDetail();
  Claim& claim = table_.CreateClaim(lock, kept.owner);
  claim.mode = kept.mode;
  claim.set_redis_way(kept.is_redis_way);
  claim.SetLeaseMs(kept.lease_ms);
  claim.label = labels_.Use(kept.label) & kLabelRefMax;
  if (kept.meta) {
    claim.NeedExtras().meta = std::make_shared<const std::string>(*kept.meta);
  }
  if (kept.session_grace_ms) claim.NeedExtras().session_grace_ms = kept.session_grace_ms;
  if (kept.min_hold_ms > 0) claim.NeedExtras().min_hold_ms = kept.min_hold_ms;
  if (kept.channel) {
    claim.NeedExtras().channel = channels_.Need(*kept.channel);
    claim.extras->channel->is_open = false;
  }
  return claim;
}

void LockEngine::Restore(const KeptHold& kept, DurationMs restart_grace_ms, TimeMs now) {
  const bool is_plain = IsPlain(kept.claim);
  PlainTerms terms;
  if (is_plain) terms = {kept.claim.owner, kept.claim.mode.is_limit_given, kept.claim.meta};
  LockEntry& lock = LockToRestore(kept.key, terms);
  const DurationMs length_ms = kept.left_ms.value_or(kept.claim.lease_ms);
  const TimeMs lease_end = kept.claim.lease_ms == 0 ? kNever : now + length_ms;
  Hold* restored = &lock.plain;
  if (is_plain && !lock.has_plain_hold() && lock.detail == nullptr) {
    lock.plain.label = labels_.Use(kept.claim.label) & kLabelRefMax;
    lock.plain.SetLeaseMs(kept.claim.lease_ms);
    lock.plain.set_redis_way(kept.claim.is_redis_way);
    StartHold(lock.plain, kept.token, lease_end, now);
  } else {
    Claim& claim = RestoreClaim(lock, kept.claim);
    if (!kept.claim.mlock_keys.empty()) AddToGroup(GroupToRestore(kept), claim);
    AddHold(claim, kept.token, nullptr, now);
    SetLeaseEnd(*lock.detail, claim, lease_end);
    if (kept.claim.session_grace_ms) {
      const DurationMs grace_ms = std::max(*kept.claim.session_grace_ms, restart_grace_ms);
      ScheduleMember(*lock.detail, claim, std::min(lease_end, now + grace_ms), TimerClass::kLease);
    }
    restored = &claim;
  }
  restored->set_left_kept(kept.left_ms.has_value());
  --counts_.granted;  // it was not granted by this process
  counts_.newest_token = std::max(counts_.newest_token, kept.token);
}

Group& LockEngine::GroupToRestore(const KeptHold& kept) {
  if (Group* group = held_groups_.Find(kept.token)) return *group;
  auto* group = new Group(NamesOf(kept.key.db, kept.claim.mlock_keys));
  group->token = kept.token;
  held_groups_.Insert(*group);
  return *group;
}

void LockEngine::Restore(const KeptPlace& kept, DurationMs restart_grace_ms, TimeMs now) {
  Claim* place = nullptr;
  if (kept.claim.mlock_keys.empty()) {
    place = &RestorePlace(kept.key, kept, now);
  } else {
    const std::vector<KeyName> names = NamesOf(kept.key.db, kept.claim.mlock_keys);
    auto* group = new Group(names);
    for (const KeyName& name : names) {
      Claim& claim = RestorePlace(name, kept, now);
      AddToGroup(*group, claim);
      ++claim.lock.detail->groups_in_line;
    }
    place = group->claims.front();
  }
  place->is_kept = true;
  if (place->channel() != nullptr) {
    place->extras->wait_ms = kept.wait_ms.value_or(kForever);
    place->extras->wait_end = std::min(now + place->extras->wait_ms, kNever);
  }
  if (kept.keep_ms > 0) {
    Keep(*place, now);
  } else {
    PassOver(*place, now);
    SchedulePlace(*place, now + restart_grace_ms, TimerClass::kReservation);
  }
  next_arrival_ = std::max(next_arrival_, kept.arrival + 1);
}

Claim& LockEngine::RestorePlace(const KeyName& key, const KeptPlace& kept, TimeMs now) {
  LockEntry& lock = LockToRestore(key, {});
  Claim& claim = RestoreClaim(lock, kept.claim);
  LockDetail& detail = *lock.detail;
  claim.arrival = kept.arrival;
  claim.number = detail.next_number++;
  claim.joined = now;
  claim.SetSince(now);
  claim.keep_ms = static_cast<std::uint32_t>(kept.keep_ms);
  LinkLine(detail);
  detail.line.push_back(claim);
  detail.standing.push_back(claim);
  ++counts_.places;
  return claim;
}

void LockEngine::Restore(const KeptCooling& kept, TimeMs now) {
  LockEntry& lock = LockToRestore(kept.key, {});
  LockDetail& detail = lock.NeedDetail();
  auto* room = new CoolingRoom(lock, kept.mode, kept.token);
  room->is_kept = true;
  detail.rooms.Take(room->mode);
  detail.cooling.push_back(*room);
  ++counts_.cooling;
  ScheduleMember(detail, *room, now + kept.left_ms, TimerClass::kCooling);
}

void LockEngine::EndRestore(Token first_token, TimeMs now, Effects& effects) {
  assert(first_token >= next_token_ && first_token > counts_.newest_token);
  next_token_ = first_token;
  for (LockDetail& detail : lines_) Serve(detail.line.front().lock, now, effects);
}

void LockEngine::DelayGrant(const ChangeLog::Name& name, DurationMs delay_ms) {
  LockEntry* lock = table_.FindByHash(name.key_hash, [&](const LockEntry& entry) {
    return FindToken(entry, name.number) != nullptr;
  });
  if (lock == nullptr) return;
  auto& hold = const_cast<Hold&>(*FindToken(*lock, name.number));
  const TimeMs end = std::min(LeaseEndOf(hold) + delay_ms, kNever);
  if (!hold.is_claim()) {
    wheel_.Schedule(hold, end, TimerClass::kLease);
    return;
  }
  auto& claim = static_cast<Claim&>(hold);
  const bool is_in_grace = claim.has_session() && claim.attachment == nullptr;
  const TimeMs deadline = claim.deadline();
  SetLeaseEnd(*lock->detail, claim, end);
  // The grace of a session runs since its connection closed.
  if (is_in_grace)
    ScheduleMember(*lock->detail, claim, std::min(deadline, end), TimerClass::kLease);
  if (claim.extras != nullptr && claim.extras->cool_until != 0) {
    claim.extras->cool_until = std::min(claim.extras->cool_until + delay_ms, kNever);
  }
}

}  // namespace fairlock::engine
