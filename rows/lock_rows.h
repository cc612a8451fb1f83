// The state of locks that survives a restart, as plain structs. The lock engine fills them, and
// restores its state from them; storage/records encodes them.
//
// Durations are in milliseconds. Views point into the engine until its next step, or into the bytes
// that a row was decoded from.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fairlock::rows {

using DurationMs = std::int64_t;

// Which other holds may exist at the same time as a hold, or as a slot taken for one.
struct Mode {
  std::uint32_t limit = 1;
  bool is_shared = false;
  bool is_limit_given = false;  // the client gave LIMIT; an operator may override it

  friend bool operator==(const Mode&, const Mode&) = default;
};

// Options of LOCK that consist of a value and that most requests do not have. A request, a claim
// and a row each contain this struct, so a new option is a member here and a part in rows.cc.
struct Terms {
  std::optional<DurationMs> session_grace_ms = {};  // SESSION, with its GRACE (0 if not given)
  DurationMs min_hold_ms = 0;                       // MINHOLD

  friend bool operator==(const Terms&, const Terms&) = default;
};

// Identifies a hold by its database, key and token. The key is needed because all holds of an MLOCK
// share one token.
struct HoldId {
  std::uint8_t db = 0;
  std::uint64_t token = 0;
  std::string_view key;

  friend bool operator==(const HoldId&, const HoldId&) = default;
};

// The members that holds and places in the queue have in common.
struct Claim {
  std::string_view owner = {};
  Mode mode = {};
  bool is_redis_way = false;  // requested by SET NX or a similar Redis command, not by LOCK
  DurationMs lease_ms = 0;    // the length on record; 0: no lease
  Terms terms = {};
  std::optional<std::string_view> meta = {};
  std::string_view label = {};                   // empty: none
  std::optional<std::string_view> channel = {};  // NOTIFY
  // All keys of the MLOCK in its order, including those whose holds have ended; empty for a single
  // lock.
  std::vector<std::string_view> mlock_keys = {};

  friend bool operator==(const Claim&, const Claim&) = default;
};

struct Hold {
  HoldId id = {};
  Claim claim = {};
  std::optional<DurationMs> remaining_ms = {};  // of the lease; absent: the lease starts over
  bool is_leaving = false;  // BREAK with GRACE: at the end of the lease, it ends by force

  friend bool operator==(const Hold&, const Hold&) = default;
};

// A place in the queue. An MLOCK has one place, in the queues of all its keys; `key` is one of
// them.
struct Place {
  std::uint64_t arrival = 0;  // identifies the place, and determines the order of all places
  std::uint8_t db = 0;
  std::string_view key = {};
  Claim claim = {};
  DurationMs keep_ms = 0;                  // 0: skipped until its owner asks again
  std::optional<DurationMs> wait_ms = {};  // with NOTIFY: how long it may wait, if that is limited

  friend bool operator==(const Place&, const Place&) = default;
};

// A slot that stays occupied (MINHOLD) after the hold `id` has ended.
struct Cooldown {
  HoldId id = {};
  Mode mode = {};
  DurationMs length_ms = 0;
  std::optional<DurationMs> remaining_ms = {};  // absent: the cooldown starts over

  friend bool operator==(const Cooldown&, const Cooldown&) = default;
};

}  // namespace fairlock::rows
