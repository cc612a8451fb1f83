// What the deadlines of the engine are for.
#pragma once

#include <cstdint>

namespace fairlock::engine {

// What a deadline ends; deadlines of one tick end in this order.
struct TimerClass {
  enum : std::uint8_t { kLease, kCooling, kReservation, kWait };
};

// What a node of the timer wheel is part of.
struct TimerKind {
  enum : std::uint8_t { kHold, kPlace, kMultiLock, kWatcher, kCooling };
};

}  // namespace fairlock::engine
