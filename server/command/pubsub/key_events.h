// The events that Redis publishes on key space channels, and the letters that select these events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlock::command {

// The value of `notify-keyspace-events`, one bit per letter. Redis has more kinds of events than
// locks have. The letters of the other kinds are stored and shown, but have no effect.
using KeyEventClasses = std::uint32_t;

inline constexpr KeyEventClasses kGenericEvents = 1U << 0;     // g: del, expire
inline constexpr KeyEventClasses kStringEvents = 1U << 1;      // $: set
inline constexpr KeyEventClasses kExpiredEvents = 1U << 2;     // x: expired
inline constexpr KeyEventClasses kListEvents = 1U << 3;        // l
inline constexpr KeyEventClasses kSetEvents = 1U << 4;         // s
inline constexpr KeyEventClasses kHashEvents = 1U << 5;        // h
inline constexpr KeyEventClasses kSortedSetEvents = 1U << 6;   // z
inline constexpr KeyEventClasses kEvictedEvents = 1U << 7;     // e
inline constexpr KeyEventClasses kStreamEvents = 1U << 8;      // t
inline constexpr KeyEventClasses kModuleEvents = 1U << 9;      // d
inline constexpr KeyEventClasses kNewKeyEvents = 1U << 10;     // n
inline constexpr KeyEventClasses kToKeySpace = 1U << 11;       // K: on __keyspace@<db>__:KEY
inline constexpr KeyEventClasses kToKeyEvent = 1U << 12;       // E: on __keyevent@<db>__:EVENT
inline constexpr KeyEventClasses kKeyMissEvents = 1U << 13;    // m
inline constexpr KeyEventClasses kAllEvents = (1U << 10) - 1;  // A: all of the above except n
inline constexpr KeyEventClasses kKeyEventClassesMax = (1U << 14) - 1;

// Returns nullopt if there is an unknown letter.
std::optional<KeyEventClasses> ParseKeyEventClasses(std::string_view letters);
// Returns the letters in the order in which Redis shows them.
std::string FormatKeyEventClasses(KeyEventClasses classes);

}  // namespace fairlock::command
