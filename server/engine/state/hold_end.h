// How a hold ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "server/engine/api/event.h"

namespace fairlock::engine {

enum class HoldEnd : std::uint8_t {
  kReleased,
  kExpired,
  kDisconnected,  // the connection of its session closed
  kBroken,
  kTransferred,
  kUndone  // its token never reached the owner
};

inline EventKind EventOf(HoldEnd end) {
  constexpr std::array<EventKind, 6> kEvents = {EventKind::kReleased,     EventKind::kExpired,
                                                EventKind::kDisconnected, EventKind::kBroken,
                                                EventKind::kTransferred,  EventKind::kUndone};
  return kEvents[static_cast<std::size_t>(end)];
}

}  // namespace fairlock::engine
