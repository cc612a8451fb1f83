// Places: how they are joined, kept, passed over, granted and given up.

#include <algorithm>
#include <cassert>

#include "server/engine/faults.h"
#include "server/engine/lock_core.h"

namespace fairlock::engine {

bool LockCore::HasRoom(const LockEntry& lock, const Mode& mode) const {
  if (IsFaulty(Fault::kDoubleGrant) && mode.limit == 1 && next_token_ % 5 == 0) return true;
  if (!overrides_.empty()) return HasRoomUnderOverrides(lock, mode);
  if (lock.detail != nullptr) return lock.detail->rooms.HasRoomFor(mode);
  return !lock.has_plain_hold();
}

bool LockCore::IsAnyoneAhead(const LockEntry& lock, std::uint64_t number) const {
  if (lock.detail == nullptr) return false;
  // Places with a room reserved are ahead, but need nothing more: those behind get what remains.
  for (const Claim& place : lock.detail->standing) {
    if (place.number >= number) return false;
    if (!place.is_reserved) return true;
  }
  return false;
}

DenialReason LockCore::ReasonFor(const LockEntry& lock, const Mode& mode) const {
  if (IsDrained(lock.key())) return DenialReason::kDrained;
  if (HasRoom(lock, mode)) return DenialReason::kLine;
  if (lock.detail != nullptr && (lock.detail->reserved > 0 || !lock.detail->cooling.empty())) {
    Rooms rooms;
    if (lock.has_plain_hold()) rooms.Take({});
    for (const Claim& hold : lock.detail->holds) rooms.Take(hold.mode);
    if (HasRoomIn(rooms, lock, mode)) {
      for (const Claim& place : lock.detail->standing) {
        if (place.is_reserved) rooms.Take(place.mode);
      }
      return HasRoomIn(rooms, lock, mode) ? DenialReason::kCooling : DenialReason::kReserved;
    }
  }
  const bool are_holders_shared = lock.detail != nullptr && lock.detail->rooms.taken_shared() > 0;
  return are_holders_shared != mode.is_shared ? DenialReason::kShared : DenialReason::kHeld;
}

void LockCore::JoinLine(Claim& place, const LockRequest& request, Attachment& from, TimeMs now) {
  LockDetail& detail = place.lock.NeedDetail();
  place.arrival = next_arrival_++;
  place.number = detail.next_number++;
  place.joined = now;
  place.SetSince(now);
  LinkLine(detail);
  if (IsFaulty(Fault::kLifo)) {
    detail.line.push_front(place);
    detail.standing.push_front(place);
  } else {
    detail.line.push_back(place);
    detail.standing.push_back(place);
  }
  ++counts_.places;
  AwaitOrKeep(place, request, from, now);
}

void LockCore::AwaitOrKeep(Claim& place, const LockRequest& request, Attachment& from, TimeMs now) {
  if (request.wait_ms == 0) {
    Keep(place, now);
    return;
  }
  StandInLine(place);
  place.SetState(ClaimState::kWaiting);
  place.attachment = &from;
  from.pending.push_back(place);
  const TimeMs end =
      IsFaulty(Fault::kLostTimeout) ? kNever : std::min(now + request.wait_ms, kNever);
  ScheduleMember(*place.lock.detail, place, end, TimerClass::kWait);
}

void LockCore::Keep(Claim& place, TimeMs now) {
  StandInLine(place);
  place.SetState(ClaimState::kKept);
  ScheduleMember(*place.lock.detail, place, now + place.keep_ms, TimerClass::kReservation);
}

void LockCore::PassOver(Claim& place, TimeMs now) {
  LockDetail& detail = *place.lock.detail;
  if (!IsFaulty(Fault::kPassedOverBlocks))
    detail.standing.erase(detail.standing.iterator_to(place));
  place.SetState(ClaimState::kPassedOver);
  ++counts_.passed_over;
  ScheduleMember(detail, place, now + options_.reconnect_grace_ms, TimerClass::kReservation);
}

void LockCore::StandInLine(Claim& place) {
  LockDetail& detail = *place.lock.detail;
  if (static_cast<StandingHook&>(place).is_linked()) return;
  if (place.state == ClaimState::kPassedOver) --counts_.passed_over;
  if (IsFaulty(Fault::kReturnLosesPlace)) {
    detail.standing.push_back(place);
    return;
  }
  // Behind the nearest place ahead of it that is standing.
  for (auto at = detail.line.iterator_to(place); at != detail.line.begin();) {
    --at;
    if (!static_cast<StandingHook&>(*at).is_linked()) continue;
    detail.standing.insert(std::next(detail.standing.iterator_to(*at)), place);
    return;
  }
  detail.standing.push_front(place);
}

void LockCore::Reserve(Claim& place) {
  LockDetail& detail = *place.lock.detail;
  detail.rooms.Take(place.mode);
  ++detail.reserved;
  place.is_reserved = true;
}

void LockCore::Unreserve(Claim& place) {
  if (!place.is_reserved) return;
  LockDetail& detail = *place.lock.detail;
  detail.rooms.Free(place.mode);
  --detail.reserved;
  place.is_reserved = false;
}

void LockCore::LinkLine(LockDetail& detail) {
  if (!detail.line.empty()) return;
  detail.seen_changes = limit_changes_;
  lines_.push_back(detail);
}

void LockCore::LeaveLine(Claim& place) {
  LockDetail& detail = *place.lock.detail;
  Unreserve(place);
  detail.line.erase(detail.line.iterator_to(place));
  if (detail.line.empty()) lines_.erase(lines_.iterator_to(detail));
  if (static_cast<StandingHook&>(place).is_linked()) {
    detail.standing.erase(detail.standing.iterator_to(place));
  }
  if (place.state == ClaimState::kPassedOver) --counts_.passed_over;
  wheel_.Cancel(place);
  --counts_.places;
}

void LockCore::LoseRequest(Claim& place, TimeMs now) {
  if (IsFaulty(Fault::kGhostPlace)) return;
  if (place.keep_ms > 0) {
    Keep(place, now);
  } else if (options_.reconnect_grace_ms > 0) {
    PassOver(place, now);
  } else {
    Tell(EventKind::kLapsed, table_.HashOf(place.lock.key()), place.lock, place, now);
    LeaveLine(place);
    DestroyClaim(place);
  }
}

void LockCore::GrantPlace(Claim& place, Attachment* to, TimeMs now) {
  const std::uint64_t hash = table_.HashOf(place.lock.key());
  RecentKey& recent = recent_.Touch(hash);
  ++recent.granted_after_wait;
  recent.NoteWait(now - place.joined);
  ++counts_.granted_after_wait;
  LeaveLine(place);
  AddHold(place, to, now);
  Tell(EventKind::kGranted, hash, place.lock, place, now);
}

void LockCore::ReturnToLine(Claim& hold, TimeMs now) {
  LockDetail& detail = *hold.lock.detail;
  const std::uint64_t hash = table_.HashOf(hold.lock.key());
  Tell(EventKind::kUndone, hash, hold.lock, hold, now);
  detail.rooms.Free(hold.mode);
  detail.holds.erase(detail.holds.iterator_to(hold));
  --counts_.holds;
  ++recent_.Touch(hash).ended;
  wheel_.Cancel(hold);
  Unbind(hold);
  hold.token = 0;
  hold.SetSince(hold.joined);
  const auto behind = std::find_if(detail.line.begin(), detail.line.end(),
                                   [&](const Claim& other) { return other.number > hold.number; });
  LinkLine(detail);
  detail.line.insert(behind, hold);
  ++counts_.places;
  StandInLine(hold);
  LoseRequest(hold, now);
}

void LockCore::Answer(Pending& pending, const Resolution& resolution, Effects& effects) {
  if (pending.attachment == nullptr) return;
  Attachment& to = *pending.attachment;
  to.pending.erase(to.pending.iterator_to(pending));
  pending.attachment = nullptr;
  if (IsFaulty(Fault::kSilentSupersede) && resolution.kind == ResolutionKind::kSuperseded) return;
  effects.resolutions.push_back(resolution);
  effects.resolutions.back().to = &to;
}

void LockCore::Serve(LockEntry& lock, TimeMs now, Effects& effects) {
  if (lock.detail == nullptr) return;
  ServeLine(lock, now, effects);
  ServeWatchers(lock, effects);
}

void LockCore::ServeLine(LockEntry& lock, TimeMs now, Effects& effects) {
  LockDetail& detail = *lock.detail;
  for (auto at = detail.standing.begin(); at != detail.standing.end();) {
    Claim& place = *at;
    ++at;
    if (place.is_reserved) continue;
    if (!HasRoom(lock, place.mode)) break;
    if (place.state == ClaimState::kKept) {
      if (!IsFaulty(Fault::kNoReservation)) Reserve(place);
      continue;
    }
    Attachment* to = place.attachment;
    const bool has_session = place.has_session();
    GrantPlace(place, nullptr, now);
    Answer(place, {nullptr, ResolutionKind::kGranted, place.token, table_.HashOf(lock.key()), {}},
           effects);
    if (has_session && to != nullptr) Bind(place, *to);
  }
}

void LockCore::ServeWatchers(LockEntry& lock, Effects& effects) {
  LockDetail& detail = *lock.detail;
  const Hold* oldest_hold = lock.oldest_hold();
  Token oldest = oldest_hold == nullptr ? kTokenMax : Token{oldest_hold->token};
  if (IsFaulty(Fault::kWatchTooEarly)) oldest = kTokenMax;
  while (!detail.watchers.empty() && detail.watchers.front().newest_token < oldest) {
    Watcher& watcher = detail.watchers.front();
    Answer(watcher, {.kind = ResolutionKind::kWatchEnded}, effects);
    DestroyWatcher(watcher);
  }
}

void LockCore::DestroyWatcher(Watcher& watcher) {
  if (watcher.attachment != nullptr) {
    auto& pending = watcher.attachment->pending;
    pending.erase(pending.iterator_to(watcher));
  }
  wheel_.Cancel(watcher);
  auto& watchers = watcher.lock.detail->watchers;
  watchers.erase(watchers.iterator_to(watcher));
  --counts_.watchers;
  delete &watcher;
}

}  // namespace fairlock::engine
