// What follows from a change to holds or lines: who is granted, reserved for, or told.

#include <algorithm>
#include <cassert>
#include <utility>

#include "server/engine/lock_core.h"

namespace fairlock::engine {

namespace {

// The order in the end of a step: who waits longest, and of an MLOCK the order of its keys.
std::pair<std::uint64_t, std::uint8_t> OrderOf(const LockDetail& detail) {
  if (!detail.line.empty()) return {detail.line.front().arrival, detail.line.front().rank()};
  return {detail.watchers.empty() ? 0 : detail.watchers.front().arrival, 0};
}

}  // namespace

void LockCore::Answer(Pending& pending, const Resolution& resolution, Effects& effects) {
  if (pending.attachment == nullptr) return;
  Attachment& to = *pending.attachment;
  to.pending.erase(to.pending.iterator_to(pending));
  pending.attachment = nullptr;
  effects.resolutions.push_back(resolution);
  effects.resolutions.back().to = &to;
}

void LockCore::AnswerPlace(Claim& place, const Resolution& resolution, TimeMs now,
                           Effects& effects) {
  NotifyChannel* channel = place.channel();
  Pending& request = RequestOf(place);
  if (channel == nullptr) return Answer(request, resolution, effects);
  if (request.attachment == nullptr) return;
  channel->pending.erase(channel->pending.iterator_to(request));
  request.attachment = nullptr;
  TellOutcome(place, resolution, now);
}

void LockCore::BeginStep(TimeMs now) {
  assert(!is_in_step_);
  EndOverrides(now);
  step_texts_.clear();
  limit_changes_before_step_ = limit_changes_;
  is_in_step_ = true;
}

void LockCore::EndStep(TimeMs now, Effects& effects) {
  assert(is_in_step_);
  is_in_step_ = false;
  deferred_.sort([](const LockDetail& a, const LockDetail& b) { return OrderOf(a) < OrderOf(b); });
  while (!deferred_.empty()) {
    LockDetail& detail = deferred_.front();
    deferred_.pop_front();
    ServeDeferred(detail, now, effects);
  }
}

bool LockCore::Defer(LockEntry& lock) {
  LockDetail& detail = *lock.detail;
  if (detail.is_deferred()) return true;
  // What is overdue was done before the step.
  if (is_in_past_) return false;
  if (!detail.line.empty() || !detail.watchers.empty()) deferred_.push_back(detail);
  return true;
}

void LockCore::ServeDeferred(LockDetail& detail, TimeMs now, Effects& effects) {
  // Whoever waited for it may be gone again.
  if (detail.line.empty() && detail.watchers.empty()) return;
  LockEntry& lock = detail.line.empty() ? detail.watchers.front().lock : detail.line.front().lock;
  Serve(lock, now, effects);
  Discard(table_.HashOf(lock.key()), lock);
}

std::string_view LockCore::OutlivingStep(std::string_view text) {
  return is_in_step_ ? step_texts_.emplace_back(text) : text;
}

void LockCore::TellIfVacated(LockEntry& lock, TimeMs now) {
  LockDetail& detail = *lock.detail;
  // Who is in line may be granted in the end of the step.
  if (!detail.vacating || (detail.is_deferred() && !detail.line.empty())) return;
  TellVacated(lock, *std::exchange(detail.vacating, std::nullopt), now);
}

void LockCore::NoteLine(LockEntry& lock) {
  if (std::exchange(lock.detail->is_noted, true)) return;
  noted_lines_.push_back(&lock);
}

void LockCore::NoteOtherLines(const Claim& place) {
  const Group* group = place.group();
  if (group == nullptr) return;
  for (const Claim* claim : group->claims) {
    if (claim != &place) NoteLine(claim->lock);
  }
}

void LockCore::Serve(LockEntry& lock, TimeMs now, Effects& effects) {
  if (lock.detail == nullptr) return;
  if (std::exchange(lock.detail->is_noted, false)) std::erase(noted_lines_, &lock);
  ServeOrDefer(lock, now, effects);
  if (!noted_lines_.empty()) ServeNotedLines(lock, now, effects);
  TellIfVacated(lock, now);
}

void LockCore::ServeNotedLines(const LockEntry& own, TimeMs now, Effects& effects) {
  // A line is noted again when a further grant or reservation of an MLOCK changes it; there are no
  // more of these than places.
  for (std::size_t i = 0; i < noted_lines_.size(); ++i) {
    LockEntry& lock = *noted_lines_[i];
    lock.detail->is_noted = false;
    ServeOrDefer(lock, now, effects);
  }
  std::sort(noted_lines_.begin(), noted_lines_.end());
  noted_lines_.erase(std::unique(noted_lines_.begin(), noted_lines_.end()), noted_lines_.end());
  for (LockEntry* lock : noted_lines_) {
    TellIfVacated(*lock, now);
    if (lock == &own || lock->detail->is_settling) continue;
    Discard(table_.HashOf(lock->key()), *lock);
  }
  noted_lines_.clear();
}

void LockCore::ServeOrDefer(LockEntry& lock, TimeMs now, Effects& effects) {
  if (is_in_step_ && Defer(lock)) return;
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
    if (place.group() != nullptr && FindBlocked(place, place.mode) != nullptr) break;
    ServePlace(place, now, effects);
  }
}

void LockCore::ServePlace(Claim& place, TimeMs now, Effects& effects) {
  if (place.state == ClaimState::kKept) {
    Reserve(place);
    NoteOtherLines(place);
    return;
  }
  Pending& request = RequestOf(place);
  Attachment* to = request.attachment;
  GrantPlace(place, nullptr, now);
  AnswerPlace(place,
              {nullptr, ResolutionKind::kGranted, place.token, table_.HashOf(place.lock.key()), {}},
              now, effects);
  if (!place.has_session() || to == nullptr) return;
  ForEachClaim(place, [&](Claim& claim) { Bind(claim, *to); });
}

void LockCore::ServeWatchers(LockEntry& lock, Effects& effects) {
  LockDetail& detail = *lock.detail;
  const Hold* oldest_hold = lock.oldest_hold();
  Token oldest = oldest_hold == nullptr ? kTokenMax : Token{oldest_hold->token};
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
