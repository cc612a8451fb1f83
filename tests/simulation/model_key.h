// One key as the reference model sees it: who holds it, who stands in line,
// which rooms cool, who waits for it to be free.
//
// Plain lists, searched from end to end; nothing is remembered that could be
// looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "server/engine/api/types.h"
#include "tests/simulation/call.h"

namespace fairlock::simulation {

using engine::Mode;

enum class PlaceState : std::uint8_t {
  kWaiting,    // its request waits
  kKept,       // absent, within its KEEP: stands in line
  kPassedOver  // absent, within the grace: has its number, delays nobody
};

// Of LOCK on one key; of MLOCK on each of its keys the same.
struct ModelPlace {
  int owner = kAbsent;
  std::vector<int> keys;  // on which it stands, in the order in which they were first named
  bool is_mlock = false;
  int asked_key = kAbsent;    // the first that its latest request named
  std::uint64_t arrival = 0;  // its number in line
  PlaceState state = PlaceState::kWaiting;
  bool is_reserved = false;  // a kept one for which a room is taken
  Mode mode;
  TimeMs since = 0;
  TimeMs end = 0;  // of the WAIT, the KEEP or the grace, by its state
  DurationMs keep_ms = 0;
  DurationMs lease_ms = 0;  // 0: none
  std::optional<DurationMs> session_grace_ms;
  DurationMs min_hold_ms = 0;
  int meta = kAbsent;
  int label = kAbsent;
  int connection = kAbsent;          // of the request that waits, or of the last one
  int waits_on = kAbsent;            // that connection, or its channel
  int channel = kAbsent;             // NOTIFY
  TimeMs wait_end = engine::kNever;  // of the WAIT, with NOTIFY
  bool is_redis_way = false;
  // Of a value whose SET NX was denied once: passed over, and nobody sees it, until it asks again.
  bool is_mark = false;
};

struct ModelHold {
  int owner = kAbsent;
  std::vector<int> keys;  // that were granted with it
  bool is_mlock = false;
  std::size_t rank = 0;  // of this key among them
  Token token = 0;
  Mode mode;
  TimeMs since = 0;
  TimeMs lease_end = 0;
  DurationMs lease_ms = 0;                     // the length on record, 0: none
  std::optional<DurationMs> session_grace_ms;  // a session
  int session_connection = kAbsent;            // absent within the grace
  std::uint64_t bound = 0;                     // rises with each binding
  TimeMs grace_end = engine::kNever;
  TimeMs cool_until = 0;  // MINHOLD; 0: none
  int meta = kAbsent;
  int label = kAbsent;
  int client = kAbsent;                 // a connection
  int channel = kAbsent;                // NOTIFY
  std::optional<ModelPlace> came_from;  // the place that was granted
  bool is_confirmed = false;            // by RENEW or TRANSFER
  bool is_redis_way = false;            // taken by SET and its kin

  TimeMs end() const { return lease_end < grace_end ? lease_end : grace_end; }
};

struct ModelCooling {
  Mode mode;
  Token token = 0;  // of the hold that ended
  std::size_t rank = 0;
  TimeMs end = 0;
};

struct ModelWatcher {
  std::uint64_t arrival = 0;
  Token newest_token = 0;  // of the holds whose end it waits for
  TimeMs give_up = 0;
  int connection = kAbsent;
};

// What is due on a key, and in which order: by time, then by class, then by token or arrival. Keys
// of one MLOCK, which share their token, come in its order.
struct ModelEvent {
  enum class Class { kLease, kCooling, kAbsence, kWait };  // in the order of rule 16
  TimeMs time = 0;
  Class event_class = Class::kLease;
  std::uint64_t order = 0;
  bool is_watcher = false;
  std::size_t index = 0;  // in the list that it concerns

  std::tuple<TimeMs, Class, std::uint64_t> Rank() const { return {time, event_class, order}; }
};

struct ModelKey {
  std::optional<std::uint32_t> limit_override;  // the n in force in place of those given
  // Overrides have changed, and the line was not looked at since.
  bool is_unseen = false;
  std::uint64_t line_number = 0;  // rises with each line that begins or is looked at so
  std::vector<ModelHold> holds;   // by token
  std::vector<ModelPlace> line;   // by arrival
  std::vector<ModelCooling> cooling;
  std::vector<ModelWatcher> watchers;
  // Since the beginning.
  std::uint64_t acquired = 0;
  std::uint64_t granted_after_wait = 0;
  std::uint64_t denied = 0;
  std::uint64_t expired = 0;

  bool IsEmpty() const {
    return holds.empty() && line.empty() && cooling.empty() && watchers.empty();
  }
  std::optional<std::size_t> FindHold(int owner) const;
  std::optional<std::size_t> FindToken(Token token) const;
  std::optional<std::size_t> FindPlace(int owner) const;
  // The place whose request waits on that connection.
  std::optional<std::size_t> FindPlaceOf(int connection) const;
  std::optional<std::size_t> FindWatcherOf(int connection) const;
  ModelPlace& PlaceOf(int owner) { return line[*FindPlace(owner)]; }
  std::vector<Mode> HeldRooms() const;
  std::vector<Mode> HeldAndReservedRooms() const;
  std::vector<Mode> AllRooms() const;
  bool HasRoomFor(const Mode& mode) const { return HasRoom(AllRooms(), mode); }
  bool HasRoom(const std::vector<Mode>& taken, const Mode& mode) const {
    return HasRoomBeside(taken, mode, limit_override);
  }
  // Rule 2: whether anybody before `index` in line waits for a room; those
  // passed over do not count, those with a reservation have theirs.
  bool IsAnyoneAhead(std::size_t index) const;
  // Those passed over not counted.
  std::size_t CountStanding() const { return CountStandingBefore(line.size()); }
  std::size_t CountStandingBefore(std::size_t index) const;
  // 1: next; kAbsent: it has no place that counts.
  std::int64_t PositionOf(int owner) const;
  std::size_t CountSeen() const;            // what QUEUE shows
  const ModelPlace* FirstStanding() const;  // null: none
  std::size_t CountReserved() const;
  DurationMs CoolingLeft(TimeMs now) const;
  void Insert(const ModelPlace& place);  // by its number
  Token NewestToken() const;
  std::uint32_t SmallestLimit() const;
  // The first thing to happen by `now`.
  std::optional<ModelEvent> FirstDue(TimeMs now) const;
  TimeMs NextDeadline() const;
};

}  // namespace fairlock::simulation
