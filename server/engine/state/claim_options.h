// Access to the options of claims, most of which have few options.
#pragma once

#include <optional>
#include <string_view>

#include "server/engine/state/claim.h"
#include "server/engine/state/notify_channel.h"

namespace fairlock::engine {

inline const Terms& TermsOf(const Hold& hold) {
  static constexpr Terms kNone;
  if (!hold.is_claim()) return kNone;
  const auto& claim = static_cast<const Claim&>(hold);
  return claim.extras == nullptr ? kNone : claim.extras->terms;
}

// Whether `name` is the channel of its NOTIFY; with no `name`: whether it has no NOTIFY.
inline bool HasChannel(const Hold& hold, std::optional<std::string_view> name) {
  const NotifyChannel* channel =
      hold.is_claim() ? static_cast<const Claim&>(hold).channel() : nullptr;
  return channel == nullptr ? !name : name == channel->name;
}

// The WAIT of a place with NOTIFY; kForever: no time limit.
inline DurationMs ChannelWaitOf(const Claim& place) {
  return place.extras == nullptr ? 0 : place.extras->wait_ms;
}

}  // namespace fairlock::engine
