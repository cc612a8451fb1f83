#include "storage/replicated/leadership.h"

#include <cassert>
#include <utility>

namespace fairlock::storage::replicated {

void Leadership::Doubts(Doubt doubt, TimeMs now) {
  assert(!leads_ && (doubt == Doubt::kNone || has_seen_));
  doubt_ = doubt;
  heard_at_ = now;
}

void Leadership::SeeBeat(const SeenBeat& seen, TimeMs now) {
  if (leads_) return;
  const bool is_new = !has_seen_ || seen != seen_;
  if (IsBefore(seen.beat, highest_)) has_gone_back_ = true;
  if (IsBefore(highest_, seen.beat)) highest_ = seen.beat;
  seen_ = seen;
  has_seen_ = true;
  if (!is_new) return;
  const bool is_free = !seen.exists() || seen.beat.state == Beat::State::kHandedOver;
  Doubts(is_free ? Doubt::kGone : Doubt::kNone, now);
}

void Leadership::CanaryWritten(TimeMs now) {
  // If a beat has arrived in the meantime, the leader is not silent.
  const bool is_silent = doubt_ == Doubt::kNone && now >= heard_at_ + options_.silence_ms;
  if (is_silent) Doubts(Doubt::kLast, now);
}

void Leadership::CanaryFailed(TimeMs now) { canary_at_ = now + options_.canary_pause_ms; }

void Leadership::LeaderRefused(TimeMs now) {
  if (!leads_ && has_seen_ && doubt_ != Doubt::kGone) Doubts(Doubt::kGone, now);
}

void Leadership::NoteRestore(std::uint64_t epoch) {
  has_gone_back_ = true;
  highest_.epoch = std::max(highest_.epoch, epoch);
}

void Leadership::AcceptRestore(TimeMs now) {
  has_gone_back_ = false;
  highest_ = seen_.beat;
  Doubts(doubt_, now);
}

void Leadership::TookOver(const SeenBeat& own) {
  assert(!leads_);
  leads_ = true;
  seen_ = own;
}

bool Leadership::CanTakeOver() const {
  return !leads_ && has_seen_ && !has_gone_back_ && seen_.beat.state != Beat::State::kImporting;
}

// How long this node waits for the one that the leader has handed over to. The named node itself
// waits for nobody.
DurationMs Leadership::SuccessorMs() const {
  const bool is_handed_over = seen_.beat.state == Beat::State::kHandedOver;
  if (!is_handed_over || seen_.beat.successor.empty()) return rank_ms();
  return seen_.beat.successor == options_.node ? 0 : options_.successor_ms + rank_ms();
}

TimeMs Leadership::TakeOverAt() const {
  switch (doubt_) {
    case Doubt::kGone:
      return heard_at_ + SuccessorMs();
    case Doubt::kLast:
      return heard_at_ + options_.silence_ms + rank_ms();
    case Doubt::kNone:
      return kNever;
  }
  return kNever;
}

Leadership::Action Leadership::Next(TimeMs now) const {
  if (!CanTakeOver()) return Action::kWait;
  if (now >= TakeOverAt()) return Action::kTakeOver;
  const bool is_silent = doubt_ == Doubt::kNone && now >= heard_at_ + options_.silence_ms;
  return is_silent && now >= canary_at_ ? Action::kWriteCanary : Action::kWait;
}

TimeMs Leadership::Deadline(TimeMs now) const {
  if (!CanTakeOver()) return kNever;
  if (doubt_ != Doubt::kNone) return std::max(TakeOverAt(), now);
  return std::max({heard_at_ + options_.silence_ms, canary_at_, now});
}

}  // namespace fairlock::storage::replicated
