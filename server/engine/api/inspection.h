// What the engine reports about its state. Views are valid until the next call that may change the
// engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "server/engine/api/attachment.h"
#include "server/engine/api/glob.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

struct HolderInfo {
  std::string_view owner;
  std::string_view meta;
  std::string_view label;
  std::string_view channel;  // NOTIFY; empty: none
  Token token = 0;
  TimeMs since = 0;
  DurationMs held_ms = 0;
  std::optional<DurationMs> ttl_ms;  // none: no end
  DurationMs lease_ms = 0;           // the length on record
  Mode mode;
  bool has_session = false;
  bool is_session_open = false;  // whether the connection of the session is open
  bool is_leaving = false;       // BREAK with GRACE ends it by force when `ttl_ms` are over
  std::size_t key_count = 1;     // the number of keys of the MLOCK that the hold came from
  const ClientIdentity* client = nullptr;
};

struct PlaceInfo {
  std::string_view owner;
  std::string_view meta;
  std::string_view label;
  std::string_view channel;    // NOTIFY; empty: none
  std::uint64_t position = 0;  // 1 = next
  TimeMs since = 0;
  DurationMs waited_ms = 0;
  // None: its request waits without a time limit, or it has no request.
  std::optional<DurationMs> wait_left_ms;
  std::optional<DurationMs> keep_left_ms;  // for a place without a request: how long it is kept
  bool is_waiting = false;
  bool is_reserved = false;   // a slot is reserved for it
  bool is_redis_way = false;  // requested by SET NX or SETNX, not by LOCK or MLOCK
  std::size_t key_count = 1;  // the number of keys of its MLOCK
  Mode mode;
  const ClientIdentity* client = nullptr;
};

// Counted since the key entered the bounded table of recent keys; forgotten when the key drops out
// of it.
struct KeyCounters {
  std::uint64_t acquired = 0;
  std::uint64_t granted_after_wait = 0;
  std::uint64_t denied = 0;
  std::uint64_t expired = 0;
  std::optional<DurationMs> hold_mean_ms;  // exponentially weighted mean of recent holds
  std::optional<DurationMs> wait_mean_ms;
};

struct LockInfo {
  std::uint32_t limit = 1;  // the smallest LIMIT among the slots taken; 1 if there is none
  bool is_shared = false;   // held SHARED
  std::vector<HolderInfo> holders;
  std::uint64_t holder_count = 0;
  std::uint64_t waiter_count = 0;  // without skipped places
  std::uint64_t reserved_count = 0;
  DurationMs cooling_ms = 0;  // until the last cooldown ends
  // The limit in force in place of the LIMITs given; 0: a drain.
  std::optional<std::uint32_t> limit_override;
  KeyCounters counters;
};

struct LockSummary {
  KeyName key;
  std::uint64_t holder_count = 0;
  std::uint64_t waiter_count = 0;
  DurationMs longest_wait_ms = 0;
  DurationMs oldest_hold_ms = 0;
  std::string_view label;
  std::uint32_t limit = 1;
  std::string_view first_owner;
};

// Which locks a walk visits; members that are not set do not restrict it. The views and the objects
// pointed to must stay valid during the call.
struct LockFilter {
  std::optional<std::uint8_t> db = {};
  const Glob* glob = nullptr;                  // which the key must match
  std::optional<std::string_view> label = {};  // as in the summary
  std::optional<std::string_view> owner = {};  // who holds it or has a place in its queue
  // At least one place in its queue has waited this long.
  std::optional<DurationMs> wait_ms_min = {};
  std::optional<DurationMs> hold_ms_min = {};  // its oldest hold has lasted at least this long
  bool is_endless = false;                     // one of its holds has no end
  MatchBudget* budget = nullptr;  // charged for the work; the walk pauses when the budget is spent
};

// The lock that a request waits for; for MLOCK, the lock of its first key.
struct AwaitedLock {
  KeyName key;
  std::optional<TimeMs> since;  // when the place joined the queue; none: a watcher
};

// What EXPLAIN adds to the outcome of a LOCK.
struct Explanation {
  // The time left of the asker's hold if it has one, else of the hold that ends first.
  std::optional<DurationMs> ttl_ms;
  std::optional<std::uint64_t> position;
  std::uint64_t waiter_count = 0;
  std::optional<DurationMs> eta_ms;
  std::vector<HolderInfo> holders;  // at most 16
};

struct EngineCounts {
  std::uint64_t locks = 0;
  std::uint64_t holds = 0;
  std::uint64_t places = 0;
  std::uint64_t skipped = 0;  // the number of skipped places
  std::uint64_t watchers = 0;
  std::uint64_t cooldowns = 0;
  std::uint64_t granted = 0;
  std::uint64_t granted_after_wait = 0;
  std::uint64_t denied = 0;
  std::uint64_t released = 0;
  std::uint64_t expired = 0;
  std::uint64_t disconnected = 0;
  std::uint64_t broken = 0;
  std::uint64_t timed_out = 0;
  Token newest_token = 0;

  friend bool operator==(const EngineCounts&, const EngineCounts&) = default;
};

}  // namespace fairlock::engine
