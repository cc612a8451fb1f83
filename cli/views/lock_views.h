// Holders, places in the queue, locks and their events, as the server reports them.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/base/clock.h"
#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "protocol/lock_columns.h"
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

// A row of LOCKS. A column that an older server does not send is empty or 0.
class LockRow {
 public:
  explicit LockRow(protocol::Reply reply = {}) : reply_(std::move(reply)) {}

  const protocol::Reply& reply() const { return reply_; }
  const std::string& key() const { return At(protocol::LockColumn("key")).text; }
  std::int64_t holder_count() const { return At(protocol::LockColumn("holders")).integer; }
  std::int64_t waiter_count() const { return At(protocol::LockColumn("waiters")).integer; }
  DurationMs longest_wait_ms() const { return At(protocol::LockColumn("longest_wait_ms")).integer; }
  DurationMs oldest_hold_ms() const { return At(protocol::LockColumn("oldest_hold_ms")).integer; }
  const std::string& label() const { return At(protocol::LockColumn("label")).text; }
  std::int64_t limit() const { return At(protocol::LockColumn("limit")).integer; }
  const std::string& first_owner() const { return At(protocol::LockColumn("first_owner")).text; }
  int database() const { return static_cast<int>(At(protocol::LockColumn("db")).integer); }
  // Empty: a lock of fairlock's own.
  const std::string& library() const { return At(protocol::LockColumn("library")).text; }

 private:
  const protocol::Reply& At(std::size_t column) const;

  protocol::Reply reply_;
};

HolderView ReadHolder(const protocol::Reply& map);
PlaceView ReadPlace(const protocol::Reply& map);
LockView ReadLock(const protocol::Reply& map);

Result<LockView> FetchLock(Client& client, const std::string& key);

// A message on a lock's channel: one event, as JSON. Missing and null fields read as empty or 0.
class LockMessage {
 public:
  explicit LockMessage(std::string_view text);

  std::string Text(std::string_view name) const;
  std::int64_t Number(std::string_view name) const;

  // Whether the event ends the hold that the message's token names.
  bool EndsHold() const;

 private:
  boost::json::object object_;
};

}  // namespace fairlock::cli
