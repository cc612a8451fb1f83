// The form in which the history stores an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/engine/api/event.h"
#include "server/engine/api/types.h"
#include "server/record/event_kinds.h"

namespace fairlock::record {

constexpr std::uint64_t Mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

// Times before the clock's 0 can be stored as well: events of an earlier boot, read from a file.
inline constexpr engine::TimeMs kTimeOffset = engine::TimeMs{1} << 43;
// The earliest time that a query can name.
inline constexpr engine::TimeMs kLongAgo = -(kTimeOffset / 2);

// Records of these events store how long the request waited; records of all other events store how
// long the lock was held.
inline constexpr EventKinds kEventsOfPlaces = {
    engine::EventKind::kGranted, engine::EventKind::kCancelled, engine::EventKind::kReplaced,
    engine::EventKind::kTimedOut, engine::EventKind::kLapsed};
// These events have no token of their own, so their records store the holder's token.
inline constexpr EventKinds kEventsWithHolder = {
    engine::EventKind::kDenied, engine::EventKind::kQueued, engine::EventKind::kRefused};

// Packed manually, because a record is written whenever a hold is granted or ends. The bytes of the
// key, owner, other owner and comment follow the record.
struct HistoryRecord {
  static constexpr std::uint64_t kIsOfFile = std::uint64_t{1} << 58;

  std::uint64_t what;   // 44 bits for the time, 5 for the kind, 5 for the reason, 4 for the
                        // database, 1 if it is of a file
  std::uint64_t token;  // 53 bits for the token, 11 for the length of the key
  std::uint64_t spans;  // 44 bits for the time held or waited, 20 for the time from the first to
                        // the last repeat
  // 14 bits for the length of the owner, 14 for that of the other owner, 10 for that of the
  // comment, and 24 for the number of occurrences
  std::uint64_t lengths;
  std::uint64_t number;  // the number of the event, larger than those of all events before it

  engine::TimeMs at() const { return static_cast<engine::TimeMs>(what & Mask(44)) - kTimeOffset; }
  engine::EventKind kind() const { return static_cast<engine::EventKind>(what >> 44 & Mask(5)); }
  engine::DenialReason reason() const {
    return static_cast<engine::DenialReason>(what >> 49 & Mask(5));
  }
  std::uint8_t db() const { return static_cast<std::uint8_t>(what >> 54 & Mask(4)); }
  std::size_t key_bytes() const { return token >> 53; }
  std::size_t owner_bytes() const { return lengths & Mask(14); }
  std::size_t other_bytes() const { return lengths >> 14 & Mask(14); }
  std::size_t comment_bytes() const { return lengths >> 28 & Mask(10); }
  std::size_t shown_bytes() const {
    return key_bytes() + owner_bytes() + other_bytes() + comment_bytes();
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(lengths >> 38 & Mask(24)); }
  engine::DurationMs repeated_ms() const {
    return static_cast<engine::DurationMs>(spans >> 44 & Mask(20));
  }

  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view key() const { return {bytes(), key_bytes()}; }
  std::string_view owner() const { return {bytes() + key_bytes(), owner_bytes()}; }
  std::string_view other() const { return {bytes() + key_bytes() + owner_bytes(), other_bytes()}; }
  std::string_view comment() const {
    return {bytes() + key_bytes() + owner_bytes() + other_bytes(), comment_bytes()};
  }
};

static_assert(sizeof(HistoryRecord) == 40);

}  // namespace fairlock::record
