#include "server/persist/confirmation.h"

#include <algorithm>
#include <utility>

namespace fairlock::persist {

void Confirmation::See(const StateLogState& state, engine::TimeMs now) {
  is_unsure_ = state.is_unsure || state.has_failed;
  const bool is_confirmed = state.is_ready && !state.is_unsure;
  if (is_confirmed || state.has_failed) {
    since_ = close_at_ = engine::kNever;
    has_closed_ = false;
    return;
  }
  since_ = std::min(since_, now - (state.is_unsure ? kUnsureAfterMs : 0));
  if (close_at_ == engine::kNever) close_at_ = now + kCloseEveryMs;
}

bool Confirmation::NoteClosed(engine::TimeMs now) {
  close_at_ = now + kCloseEveryMs;
  return !std::exchange(has_closed_, true);
}

engine::DurationMs Confirmation::unconfirmed_ms(engine::TimeMs now) const {
  return std::max<engine::DurationMs>(now - std::min(since_, now), 0);
}

}  // namespace fairlock::persist
