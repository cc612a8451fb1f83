// The classes of the engine's deadlines, and the kinds of objects that have them.
#pragma once

#include <cstdint>

namespace fairlock::engine {

// What a deadline ends. Deadlines of one tick are handled in the order of these classes.
struct TimerClass {
  enum : std::uint8_t { kLease, kCooling, kReservation, kWait };
};

// The kind of object that a node of the timer wheel is part of.
struct TimerKind {
  enum : std::uint8_t { kHold, kPlace, kMultiLock, kWatcher, kCooling };
};

}  // namespace fairlock::engine
