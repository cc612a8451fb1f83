// One key in the reference model: its holds, its queue, its cooldowns and its watchers.
//
// The lists are plain and searched from end to end; nothing is stored that can be computed.
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
  kKept,       // absent, within its KEEP: still counts in the queue
  kPassedOver  // absent, within the grace: keeps its order but delays nobody
};

// A place for LOCK is on one key; a place for MLOCK is the same on each of its keys.
struct ModelPlace {
  int owner = kAbsent;
  std::vector<int> keys;  // the keys in the order in which they were first named
  bool is_mlock = false;
  int asked_key = kAbsent;    // the first key that its latest request named
  std::uint64_t arrival = 0;  // its number in the queue
  PlaceState state = PlaceState::kWaiting;
  bool is_reserved = false;  // KEEP, with a slot reserved for it
  Mode mode;
  TimeMs since = 0;
  TimeMs end = 0;  // the end of the WAIT, the KEEP or the grace, depending on the state
  DurationMs keep_ms = 0;
  DurationMs lease_ms = 0;  // 0 if there is none
  std::optional<DurationMs> session_grace_ms;
  DurationMs min_hold_ms = 0;
  int meta = kAbsent;
  int label = kAbsent;
  int connection = kAbsent;          // the connection of the waiting request, or of the last one
  int waits_on = kAbsent;            // the same connection, or its channel
  int channel = kAbsent;             // NOTIFY
  TimeMs wait_end = engine::kNever;  // the end of the WAIT, with NOTIFY
  bool is_redis_way = false;
  // A value whose SET NX was denied once: skipped in the queue, and invisible until the value
  // requests the lock again.
  bool is_mark = false;
};

struct ModelHold {
  int owner = kAbsent;
  std::vector<int> keys;  // the keys granted with it
  bool is_mlock = false;
  std::size_t rank = 0;  // index of this key among them
  Token token = 0;
  Mode mode;
  TimeMs since = 0;
  TimeMs lease_end = 0;
  DurationMs lease_ms = 0;                     // recorded length; 0 if there is none
  std::optional<DurationMs> session_grace_ms;  // set if the hold has a session
  int session_connection = kAbsent;            // kAbsent within the grace
  std::uint64_t bound = 0;  // number of the binding to that connection, in ascending order
  TimeMs grace_end = engine::kNever;
  TimeMs cool_until = 0;  // MINHOLD; 0 if there is none
  int meta = kAbsent;
  int label = kAbsent;
  int client = kAbsent;                 // the id of a connection
  int channel = kAbsent;                // NOTIFY
  std::optional<ModelPlace> came_from;  // the place that was granted
  bool is_confirmed = false;            // RENEW or TRANSFER has confirmed it
  bool is_redis_way = false;            // taken by SET or a similar command
  bool is_leaving = false;              // BREAK with GRACE has fixed its end

  TimeMs end() const { return lease_end < grace_end ? lease_end : grace_end; }
};

struct ModelCooling {
  Mode mode;
  Token token = 0;  // the token of the hold that ended
  std::size_t rank = 0;
  TimeMs end = 0;
};

struct ModelWatcher {
  std::uint64_t arrival = 0;
  Token newest_token = 0;  // newest token among the holds whose end it waits for
  TimeMs give_up = 0;
  int connection = kAbsent;
};

// Something that is due on a key. Events are ordered by time, then by class, then by token or
// arrival. The keys of one MLOCK, which share its token, come in the MLOCK's order.
struct ModelEvent {
  enum class Class { kLease, kCooling, kAbsence, kWait };  // in the order of rule 16
  TimeMs time = 0;
  Class event_class = Class::kLease;
  std::uint64_t order = 0;
  bool is_watcher = false;
  std::size_t index = 0;  // its index in the list for that class

  std::tuple<TimeMs, Class, std::uint64_t> Rank() const { return {time, event_class, order}; }
};

struct ModelKey {
  // The limit that applies instead of the LIMITs that clients gave.
  std::optional<std::uint32_t> limit_override;
  // Overrides have changed since the queue was last examined.
  bool is_unseen = false;
  // Highest in the queue that began, or that overrides affected, last.
  std::uint64_t line_number = 0;
  std::vector<ModelHold> holds;  // ordered by token
  std::vector<ModelPlace> line;  // ordered by arrival
  std::vector<ModelCooling> cooling;
  std::vector<ModelWatcher> watchers;
  // Counts since the start of the run.
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
  // Rule 2: whether anyone before `index` in the queue waits for a slot. Skipped places do not
  // count, and neither do places with a reservation, which already have a slot.
  bool IsAnyoneAhead(std::size_t index) const;
  // The number of places, not counting skipped ones.
  std::size_t CountStanding() const { return CountStandingBefore(line.size()); }
  std::size_t CountStandingBefore(std::size_t index) const;
  // 1 is next in line; kAbsent means no active place.
  std::int64_t PositionOf(int owner) const;
  std::size_t CountSeen() const;            // as shown by QUEUE
  const ModelPlace* FirstStanding() const;  // null if there is none
  std::size_t CountReserved() const;
  DurationMs CoolingLeft(TimeMs now) const;
  void Insert(const ModelPlace& place);  // inserts it in the order of its arrival number
  Token NewestToken() const;
  std::uint32_t SmallestLimit() const;
  // The earliest thing that is due by `now`.
  std::optional<ModelEvent> FirstDue(TimeMs now) const;
  TimeMs NextDeadline() const;
};

}  // namespace fairlock::simulation
