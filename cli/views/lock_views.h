// Holders, places in the queue and locks, as the server reports them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "protocol/reply.h"

namespace fairlock::cli {

// The fields that a table or a sentence shows; docs/COMMANDS.md describes them.
struct ClaimantView {
  std::string owner;
  std::string meta;
  std::string label;
  std::int64_t since_unix_ms = 0;
  std::string address;
  std::string client_name;
  std::string user;
  bool is_connected = false;
  std::string mode;
  std::int64_t limit = 1;
  std::int64_t key_count = 1;  // more than 1: one of the keys of an MLOCK

  bool is_shared() const { return mode == "shared"; }
};

struct HolderView {
  ClaimantView who;
  std::int64_t token = 0;
  DurationMs held_ms = 0;
  std::optional<DurationMs> ttl_ms;  // none: unlimited
  std::string session;               // "open", "lost" or empty
  bool is_leaving = false;           // by `break --grace`
};

struct PlaceView {
  ClaimantView who;
  std::int64_t position = 0;
  DurationMs waited_ms = 0;
  std::optional<DurationMs> wait_left_ms;  // none: waits forever
  std::optional<DurationMs> keep_ms;
  std::string state;  // "waiting", "reserved" or "absent"
};

struct LockView {
  std::string mode;
  std::int64_t limit = 1;
  std::vector<HolderView> holders;
  std::int64_t waiter_count = 0;
  std::int64_t reserved_count = 0;
  DurationMs cooling_ms = 0;
  std::optional<DurationMs> hold_mean_ms;
  std::optional<DurationMs> wait_mean_ms;
  std::optional<std::int64_t> override_limit;  // the limit that an operator has set
  std::string library;                         // empty: a lock of fairlock's own
  std::string type;  // hash, list, zset or set; empty: the key has no small value

  bool is_free() const { return holders.empty() && reserved_count == 0 && cooling_ms == 0; }
  // A value that is no lock of a known library: the key is not free either.
  bool is_other_value() const { return holders.empty() && !type.empty(); }
};

struct LockRow {  // a row of LOCKS
  std::string key;
  std::int64_t holder_count = 0;
  std::int64_t waiter_count = 0;
  DurationMs longest_wait_ms = 0;
  DurationMs oldest_hold_ms = 0;
  std::string label;
  std::int64_t limit = 1;
  std::string first_owner;
  int database = 0;
  std::string library;               // empty: a lock of fairlock's own
  std::optional<DurationMs> ttl_ms;  // only with `library`; none: it never expires
};

HolderView ReadHolder(const protocol::Reply& map);
PlaceView ReadPlace(const protocol::Reply& map);
LockView ReadLock(const protocol::Reply& map);
LockRow ReadLockRow(const protocol::Reply& row);

Result<LockView> FetchLock(Client& client, const std::string& key);

}  // namespace fairlock::cli
