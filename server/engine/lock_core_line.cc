// Places: how they are joined, kept, passed over, granted and given up.

#include <algorithm>
#include <cassert>
#include <utility>

#include "server/engine/lock_core.h"

namespace fairlock::engine {

bool LockCore::HasRoom(const LockEntry& lock, const Mode& mode) const {
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

Claim* LockCore::FindBlocked(Claim& place, const Mode& mode) const {
  const auto is_blocked = [&](const Claim& claim) {
    // In what was before the step, rooms that the step has made free were taken.
    if (is_in_past_ && claim.lock.detail->is_deferred()) return true;
    return IsAnyoneAhead(claim.lock, claim.number) || !HasRoom(claim.lock, mode);
  };
  Group* group = place.group();
  if (group == nullptr) return is_blocked(place) ? &place : nullptr;
  const auto found = std::find_if(group->claims.begin(), group->claims.end(),
                                  [&](const Claim* claim) { return is_blocked(*claim); });
  return found == group->claims.end() ? nullptr : *found;
}

DenialReason LockCore::ReasonFor(const LockEntry& lock, const Mode& mode) const {
  if (IsDrained(lock.key())) {
    return overrides_.are_all_drained() ? DenialReason::kStarting : DenialReason::kDrained;
  }
  if (HasRoom(lock, mode)) return DenialReason::kLine;
  if (lock.detail != nullptr && (lock.detail->reserved > 0 || !lock.detail->cooling.empty())) {
    Rooms rooms;
    if (lock.has_plain_hold()) rooms.Take(lock.plain.mode());
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

void LockCore::EnterLine(Claim& place, TimeMs now) {
  const std::uint64_t arrival = next_arrival_++;
  ForEachClaim(place, [&](Claim& claim) {
    LockDetail& detail = claim.lock.NeedDetail();
    claim.arrival = arrival;
    claim.number = detail.next_number++;
    claim.joined = now;
    claim.SetSince(now);
    LinkLine(detail);
    if (claim.group() != nullptr) ++detail.groups_in_line;
    detail.line.push_back(claim);
    detail.standing.push_back(claim);
    ++counts_.places;
  });
}

void LockCore::JoinLine(Claim& place, const LockRequest& request, Attachment& from, TimeMs now) {
  EnterLine(place, now);
  AwaitOrKeep(place, request, from, now);
  NotePlace(place);
}

void LockCore::NotePlace(Claim& place) {
  if (changes_ == nullptr) return;
  Claim& first = FirstClaim(place);
  const bool outlives_restart = first.keep_ms > 0 && first.state != ClaimState::kMarked;
  if (!outlives_restart && !first.is_kept) return;
  changes_->NotePlace(table_.HashOf(first.lock.key()), first.arrival, first.owner());
}

void LockCore::AwaitOrKeep(Claim& place, const LockRequest& request, Attachment& from, TimeMs now) {
  if (WaitOf(request) == 0) {
    Keep(place, now);
    return;
  }
  const TimeMs end = WaitEndOf(request, now);
  NotifyChannel* channel = place.channel();
  if (channel == nullptr) return Await(place, from, end);
  assert(channel->is_open);
  NoteWait(place, request, now);
  Await(place, *channel, end);
}

TimeMs LockCore::WaitEndOf(const LockRequest& request, TimeMs now) const {
  return std::min(now + WaitOf(request), kNever);
}

void LockCore::NoteWait(Claim& place, const LockRequest& request, TimeMs now) {
  if (place.channel() == nullptr) return;
  ClaimExtras& extras = *FirstClaim(place).extras;
  extras.wait_ms = WaitOf(request);
  extras.wait_end = WaitEndOf(request, now);
}

void LockCore::Await(Claim& place, Attachment& on, TimeMs end) {
  ForEachClaim(place, [&](Claim& claim) {
    StandInLine(claim);
    claim.SetState(ClaimState::kWaiting);
  });
  Claim& first = FirstClaim(place);
  if (!WaitingRequests::Has(first)) waiting_.Insert(first);
  Pending& pending = RequestOf(place);
  pending.attachment = &on;
  on.pending.push_back(pending);
  SchedulePlace(place, end, TimerClass::kWait);
}

void LockCore::StandAbsent(Claim& place) {
  if (NotifyChannel* channel = place.channel()) channel->absent.push_back(RequestOf(place));
}

void LockCore::LeaveAbsent(Claim& place) {
  NotifyChannel* channel = place.channel();
  Pending& request = RequestOf(place);
  const bool is_absent = channel != nullptr && request.attachment == nullptr &&
                         static_cast<AttachmentHook&>(request).is_linked();
  if (is_absent) channel->absent.erase(channel->absent.iterator_to(request));
}

void LockCore::Keep(Claim& place, TimeMs now) {
  ForgetWaiting(FirstClaim(place));
  ForEachClaim(place, [&](Claim& claim) {
    StandInLine(claim);
    claim.SetState(ClaimState::kKept);
  });
  SchedulePlace(place, now + place.keep_ms, TimerClass::kReservation);
  StandAbsent(place);
}

void LockCore::PassOver(Claim& place, TimeMs now) {
  ForgetWaiting(FirstClaim(place));
  ForEachClaim(place, [&](Claim& claim) {
    LockDetail& detail = *claim.lock.detail;
    NoteIfKeyEnds(claim, Cause::kRequest);
    detail.standing.erase(detail.standing.iterator_to(claim));
    claim.SetState(ClaimState::kPassedOver);
    ++counts_.passed_over;
  });
  SchedulePlace(place, now + options_.reconnect_grace_ms, TimerClass::kReservation);
  StandAbsent(place);
  NoteOtherLines(place);
}

void LockCore::Mark(Claim& place, TimeMs now) {
  EnterLine(place, now);
  LockDetail& detail = *place.lock.detail;
  detail.standing.erase(detail.standing.iterator_to(place));
  place.SetState(ClaimState::kMarked);
  ++counts_.passed_over;
  SchedulePlace(place, now + place.keep_ms, TimerClass::kReservation);
}

void LockCore::ForgetWaiting(Claim& place) {
  if (WaitingRequests::Has(place)) waiting_.Erase(place);
}

void LockCore::SchedulePlace(Claim& place, TimeMs deadline, TimerClass timer_class) {
  wheel_.Schedule(TimerOf(place), deadline, timer_class);
  ForEachClaim(place, [&](Claim& claim) {
    LockDetail& detail = *claim.lock.detail;
    detail.due_min = std::min(detail.due_min, deadline);
  });
}

void LockCore::StandInLine(Claim& claim) {
  LockDetail& detail = *claim.lock.detail;
  if (static_cast<StandingHook&>(claim).is_linked()) return;
  if (claim.is_place() && !claim.is_standing()) --counts_.passed_over;
  // Behind the nearest place ahead of it that is standing.
  for (auto at = detail.line.iterator_to(claim); at != detail.line.begin();) {
    --at;
    if (!static_cast<StandingHook&>(*at).is_linked()) continue;
    detail.standing.insert(std::next(detail.standing.iterator_to(*at)), claim);
    return;
  }
  detail.standing.push_front(claim);
}

void LockCore::Reserve(Claim& place) {
  ForEachClaim(place, [&](Claim& claim) { ReserveRoom(claim); });
}

void LockCore::Unreserve(Claim& place) {
  ForEachClaim(place, [&](Claim& claim) { UnreserveRoom(claim); });
}

void LockCore::ReserveRoom(Claim& claim) {
  LockDetail& detail = *claim.lock.detail;
  detail.rooms.Take(claim.mode);
  ++detail.reserved;
  claim.is_reserved = true;
}

void LockCore::UnreserveRoom(Claim& claim) {
  if (!claim.is_reserved) return;
  LockDetail& detail = *claim.lock.detail;
  detail.rooms.Free(claim.mode);
  --detail.reserved;
  claim.is_reserved = false;
}

void LockCore::LinkLine(LockDetail& detail) {
  if (!detail.line.empty()) return;
  detail.seen_changes = limit_changes_;
  AppendLine(detail);
}

void LockCore::AppendLine(LockDetail& detail) {
  detail.line_number = next_line_number_++;
  lines_.push_back(detail);
}

void LockCore::LeaveLine(Claim& claim) {
  LockDetail& detail = *claim.lock.detail;
  UnreserveRoom(claim);
  ForgetWaiting(claim);
  LeaveAbsent(claim);
  if (claim.group() != nullptr) --detail.groups_in_line;
  detail.line.erase(detail.line.iterator_to(claim));
  if (detail.line.empty()) lines_.erase(lines_.iterator_to(detail));
  if (static_cast<StandingHook&>(claim).is_linked()) {
    detail.standing.erase(detail.standing.iterator_to(claim));
  }
  if (claim.is_place() && !claim.is_standing()) --counts_.passed_over;
  if (std::exchange(claim.is_kept, false) && changes_ != nullptr) {
    changes_->NoteEnd(ChangeLog::Kind::kPlace, claim.arrival);
  }
  wheel_.Cancel(claim);
  --counts_.places;
}

// What keeps a key that nobody holds: a room reserved, or an MLOCK that is next.
void LockCore::NoteIfKeyEnds(const Claim& claim, Cause cause) {
  LockDetail& detail = *claim.lock.detail;
  const bool keeps_key =
      claim.is_reserved || (claim.group() != nullptr && detail.rooms.taken() == 0 &&
                            claim.is_standing() && &detail.standing.front() == &claim);
  if (keeps_key) detail.vacating = cause;
}

void LockCore::RemovePlace(Claim& place, Cause cause) {
  NoteOtherLines(place);
  ForEachClaim(place, [&](const Claim& claim) { NoteIfKeyEnds(claim, cause); });
  Group* group = place.group();
  if (group == nullptr) {
    LeaveLine(place);
    DestroyClaim(place);
    return;
  }
  // The last one takes the group along.
  for (std::size_t left = group->claims.size(); left > 0; --left) {
    Claim& claim = *group->claims.back();
    LeaveLine(claim);
    DestroyClaim(claim);
  }
}

void LockCore::LoseRequest(Claim& place, TimeMs now) {
  if (place.keep_ms > 0) {
    Keep(place, now);
  } else if (options_.reconnect_grace_ms > 0) {
    PassOver(place, now);
  } else {
    TellPlace(EventKind::kLapsed, place, now);
    RemovePlace(place, Cause::kRequest);
  }
}

void LockCore::GrantPlace(Claim& place, Attachment* to, TimeMs now) {
  const Token token = NextToken();
  if (Group* group = place.group()) StartGroup(*group, token);
  ForEachClaim(place, [&](Claim& claim) { GrantClaim(claim, token, to, now); });
  NoteOtherLines(place);
}

void LockCore::GrantClaim(Claim& claim, Token token, Attachment* to, TimeMs now) {
  const std::uint64_t hash = table_.HashOf(claim.lock.key());
  RecentKey& recent = recent_.Touch(hash);
  ++recent.granted_after_wait;
  recent.NoteWait(now - claim.joined);
  ++counts_.granted_after_wait;
  LeaveLine(claim);
  AddHold(claim, token, to, now);
  NoteHold(hash, claim);
  Tell(EventKind::kGranted, hash, claim.lock, claim, now);
}

void LockCore::ReturnToLine(Claim& hold, TimeMs now) {
  LockDetail& detail = *hold.lock.detail;
  const std::uint64_t hash = table_.HashOf(hold.lock.key());
  Tell(EventKind::kUndone, hash, hold.lock, hold, now);
  NoteHoldEnd(hold.lock, hold);
  detail.rooms.Free(hold.mode);
  detail.holds.erase(detail.holds.iterator_to(hold));
  --counts_.holds;
  ++recent_.Touch(hash).ended;
  wheel_.Schedule(hold, kNever, TimerClass::kLease);
  Unbind(hold);
  hold.token = 0;
  hold.SetSince(hold.joined);
  hold.SetState(ClaimState::kWaiting);  // if it does not stay, it ends as a place
  const auto behind = std::find_if(detail.line.begin(), detail.line.end(),
                                   [&](const Claim& other) { return other.number > hold.number; });
  LinkLine(detail);
  if (hold.group() != nullptr) ++detail.groups_in_line;
  detail.line.insert(behind, hold);
  ++counts_.places;
  StandInLine(hold);
}

}  // namespace fairlock::engine
