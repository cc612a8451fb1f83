// One thing that happens to the engine, and all that came of it.
//
// Engine and model are given the same calls and their outcomes must be equal. Keys, owners and
// texts are numbers of the names in the Setting; connections are numbers too, never used twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/engine/api/redis_requests.h"
#include "server/engine/api/requests.h"
#include "server/engine/api/types.h"
#include "tests/simulation/outcome.h"

namespace fairlock::simulation {

enum class Operation : std::uint8_t {
  kLock,
  kUnlock,
  kRenew,
  kWait,
  kCheck,
  kCancel,
  kTransfer,
  kBreak,
  kCountHolders,
  kIsHeldBy,
  kPosition,
  kInspect,
  kQueue,
  kExplain,
  kRepeat,           // the request before, once more, from another connection
  kUnblock,          // what a connection waits for ends as at its time-out
  kDisconnect,       // a connection is lost; another comes in its stead
  kSleep,            // time passes, and nobody calls Advance
  kAdvance,          // time passes, and Advance is called
  kSetDefaultLease,  // the configuration changes
  kSetReconnectGrace,
  kSetShortage,  // memory is short, or no longer
  kSetNoRoom,    // the disk is full, or no longer
  kSetLimit,     // an operator overrides LIMIT
  kDropLimit,
  kMlock,
  kMrenew,
  kMunlock,
  kBeginStep,  // the next commands are one step, as in EXEC
  kSet,        // SET, and INCR as a rename
  kMsetNx,
  kDel,
  kExpire,  // and PERSIST
  kSee,     // what GET, EXISTS, TYPE and TTL tell
  kFlush,
  kSubscribe,    // a channel gets a subscriber
  kUnsubscribe,  // a channel loses its last one
};
inline constexpr std::size_t kOperationCount = 37;

// Of EXPIRE.
enum class ExpiryCondition : std::uint8_t { kNone, kNx, kXx, kGt, kLt };

// A key as clients of Redis see it.
struct RedisSight {
  enum Bit : std::uint8_t { kExists = 1, kHeld = 2, kRedisWay = 4, kSemaphore = 8 };

  int bits = 0;
  int owner = 0;                  // of the oldest hold
  engine::DurationMs ttl_ms = 0;  // 0: no end

  friend bool operator==(const RedisSight&, const RedisSight&) = default;
};

// `duration_ms` after `now`, and no later than never.
TimeMs After(TimeMs now, DurationMs duration_ms);

// Whether what ends at `end` is past when the clock shows `now`.
// Both are rounded down, so only a tick that has passed whole is over for certain.
inline bool IsOver(TimeMs end, TimeMs now) { return end < now; }

struct Call {
  Operation operation = Operation::kSleep;
  int connection = kAbsent;
  int key = kAbsent;
  std::vector<int> keys{};  // of MLOCK, MRENEW, MUNLOCK; the first is `key`
  int owner = kAbsent;
  int new_owner = kAbsent;
  std::optional<Token> token;
  std::optional<DurationMs> lease_ms;
  DurationMs wait_ms = 0;
  DurationMs keep_ms = 0;
  std::optional<std::uint32_t> limit;
  bool is_shared = false;
  std::optional<DurationMs> session_grace_ms;
  DurationMs min_hold_ms = 0;
  std::optional<std::uint32_t> waiters_max;
  bool replaces_newest = false;
  bool only_new = false;
  int meta = kAbsent;
  int label = kAbsent;
  int channel = kAbsent;      // NOTIFY; kSubscribe, kUnsubscribe
  int pattern = kAbsent;      // kSetLimit, kDropLimit
  std::uint64_t start = 0;    // kQueue
  std::uint64_t count = 0;    // kQueue; kBeginStep: of how many commands
  std::size_t steps_max = 0;  // kAdvance: budget of one call of Advance
  bool until_done = true;     // kAdvance: again and again until nothing more is due
  // kDisconnect, kUnsubscribe: so many of its latest grants it never read. kSubscribe, of a channel
  // that had a subscriber: it is another one who never read them.
  std::size_t undone = 0;
  // Of a write the lease is `lease_ms`, if its end is kAfter; of kExpire, without: PERSIST.
  engine::WrittenEnd written_end = engine::WrittenEnd::kEndless;
  bool only_held = false;
  bool is_rename = false;
  ExpiryCondition condition = ExpiryCondition::kNone;
  bool flushes_all = false;
  bool is_short = false;  // kSetShortage, kSetNoRoom

  // What is written is over at once.
  bool is_over() const {
    return written_end == engine::WrittenEnd::kAfter && lease_ms.value_or(0) <= 0;
  }
  // 0: none.
  DurationMs WrittenLease() const {
    return written_end == engine::WrittenEnd::kAfter && !is_over() ? *lease_ms : 0;
  }

  // In a step WAIT counts as absent.
  Call WithoutWait() const {
    Call call = *this;
    call.wait_ms = 0;
    return call;
  }
  // Rule 13: with NOTIFY it joins the line also without WAIT, then without time limit.
  bool waits_by_notify_alone() const { return channel != kAbsent && wait_ms == 0; }
  Call WithWait() const {
    Call call = *this;
    call.wait_ms = engine::kForever;
    return call;
  }
  // On what its request waits.
  int waits_on() const { return channel != kAbsent ? ConnectionOfChannel(channel) : connection; }
  // SHARED and LIMIT exclude each other; here SHARED wins.
  engine::Mode mode() const {
    const bool has_limit = limit.has_value() && !is_shared;
    return {has_limit ? *limit : 1, is_shared, has_limit};
  }
  bool is_mlock() const { return operation == Operation::kMlock; }
  // All keys that it names.
  std::vector<int> named() const { return keys.empty() ? std::vector{key} : keys; }
  // By the text of LOCK: the default lease, or none beside SESSION.
  DurationMs LeaseAsked(DurationMs default_lease_ms) const {
    return lease_ms.value_or(session_grace_ms ? 0 : default_lease_ms);
  }
};

// Rules 7 and 8: whether one more room of this mode is tolerated by all, itself
// included; an override replaces each LIMIT that was given, and 0 lets nobody in.
bool HasRoomBeside(const std::vector<engine::Mode>& taken, const engine::Mode& mode,
                   std::optional<std::uint32_t> limit_override);

// Whether EXPIRE, or PERSIST, changes a lease that ends then.
bool MayExpire(const Call& call, TimeMs end, TimeMs now);

// Whether it is of the Redis way.
bool IsRedis(Operation operation);

// Whether it concerns the server as a whole and no key.
bool IsSetting(Operation operation);

// Whether it is asked by a client, and may be a part of a step.
bool IsRequest(Operation operation);

// When a lease of that length ends; 0: never.
TimeMs LeaseEnd(TimeMs now, DurationMs lease_ms);

const char* NameOf(Operation operation);
// How often it happens beside the others when a seed has no preference.
std::uint64_t UsualWeightOf(Operation operation);

}  // namespace fairlock::simulation
