// One call to the engine, with all its parameters.
//
// The engine and the model get the same calls, and their outcomes must be equal. Keys, owners and
// other strings are indexes into the names in the Setting; connections are numbers, too, and are
// never reused.
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
  kRepeat,           // the previous request again, from another connection
  kUnblock,          // a waiting connection stops waiting, as if its time-out had passed
  kDisconnect,       // a connection is lost; another one replaces it
  kSleep,            // time passes without a call to Advance
  kAdvance,          // time passes, and Advance is called
  kSetDefaultLease,  // the configuration changes
  kSetReconnectGrace,
  kSetShortage,  // memory becomes short, or is no longer short
  kSetNoRoom,    // the disk becomes full, or is no longer full
  kSetLimit,     // an operator overrides LIMIT
  kDropLimit,
  kMlock,
  kMrenew,
  kMunlock,
  kBeginStep,  // the next commands form one step, as in EXEC
  kSet,        // SET, or INCR, which renames the holder
  kMsetNx,
  kDel,
  kExpire,  // EXPIRE or PERSIST
  kSee,     // what GET, EXISTS, TYPE and TTL show
  kFlush,
  kSubscribe,    // a channel gets a subscriber
  kUnsubscribe,  // a channel loses its last subscriber
};
inline constexpr std::size_t kOperationCount = 37;

// The condition of EXPIRE.
enum class ExpiryCondition : std::uint8_t { kNone, kNx, kXx, kGt, kLt };

// A key as Redis clients see it.
struct RedisSight {
  enum Bit : std::uint8_t { kExists = 1, kHeld = 2, kRedisWay = 4, kSemaphore = 8 };

  int bits = 0;
  int owner = 0;                  // the owner of the oldest hold
  engine::DurationMs ttl_ms = 0;  // 0 if the key never expires

  friend bool operator==(const RedisSight&, const RedisSight&) = default;
};

// `duration_ms` after `now`, but at most kNever.
TimeMs After(TimeMs now, DurationMs duration_ms);

// Whether something that ends at `end` is over when the clock shows `now`. Both times are rounded
// down, so it is certainly over only one whole tick later.
inline bool IsOver(TimeMs end, TimeMs now) { return end < now; }

struct Call {
  Operation operation = Operation::kSleep;
  int connection = kAbsent;
  int key = kAbsent;
  std::vector<int> keys{};  // for MLOCK, MRENEW, MUNLOCK; the first is `key`
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
  bool only_lengthens = false;  // GT of RENEW and MRENEW
  DurationMs grace_ms = 0;      // GRACE of BREAK; 0 if not given
  int meta = kAbsent;
  int label = kAbsent;
  int channel = kAbsent;      // for NOTIFY; kSubscribe, kUnsubscribe
  int pattern = kAbsent;      // kSetLimit, kDropLimit
  std::uint64_t start = 0;    // kQueue
  std::uint64_t count = 0;    // for kQueue; for kBeginStep, the number of commands
  std::size_t steps_max = 0;  // for kAdvance, the budget of one call of Advance
  bool until_done = true;     // for kAdvance, repeat until nothing more is due
  // With kDisconnect and kUnsubscribe, how many of the latest grants to the connection or channel
  // were never read. With kSubscribe, if the channel already had a subscriber, how many of them
  // that subscriber never read.
  std::size_t undone = 0;
  // A write has the lease `lease_ms` if its end is kAfter. kExpire without a lease means PERSIST.
  engine::WrittenEnd written_end = engine::WrittenEnd::kEndless;
  bool only_held = false;
  bool is_rename = false;
  ExpiryCondition condition = ExpiryCondition::kNone;
  bool flushes_all = false;
  bool is_short = false;  // kSetShortage, kSetNoRoom

  // Whether the written hold ends at once.
  bool is_over() const {
    return written_end == engine::WrittenEnd::kAfter && lease_ms.value_or(0) <= 0;
  }
  // The lease that the write gives; 0 if there is none.
  DurationMs WrittenLease() const {
    return written_end == engine::WrittenEnd::kAfter && !is_over() ? *lease_ms : 0;
  }

  // The same call without WAIT, which is ignored within a step.
  Call WithoutWait() const {
    Call call = *this;
    call.wait_ms = 0;
    return call;
  }
  // Rule 13: with NOTIFY, a request joins the queue even without WAIT, and then waits without a
  // time limit.
  bool waits_by_notify_alone() const { return channel != kAbsent && wait_ms == 0; }
  Call WithWait() const {
    Call call = *this;
    call.wait_ms = engine::kForever;
    return call;
  }
  // The connection or channel on which the call's request waits.
  int waits_on() const { return channel != kAbsent ? ConnectionOfChannel(channel) : connection; }
  // SHARED and LIMIT exclude each other; if both are set, SHARED applies.
  engine::Mode mode() const {
    const bool has_limit = limit.has_value() && !is_shared;
    return {has_limit ? *limit : 1, is_shared, has_limit};
  }
  bool is_mlock() const { return operation == Operation::kMlock; }
  // All keys that the call names.
  std::vector<int> named() const { return keys.empty() ? std::vector{key} : keys; }
  // The lease as documented for LOCK: the given one; if none is given, no lease with SESSION, and
  // otherwise the default lease.
  DurationMs LeaseAsked(DurationMs default_lease_ms) const {
    return lease_ms.value_or(session_grace_ms ? 0 : default_lease_ms);
  }
};

// Rules 7 and 8: whether one more slot of this mode is possible, i.e. whether all slots, including
// the new one, tolerate it. An override replaces every LIMIT that clients gave; an override of 0
// admits nobody.
bool HasRoomBeside(const std::vector<engine::Mode>& taken, const engine::Mode& mode,
                   std::optional<std::uint32_t> limit_override);

// Whether EXPIRE or PERSIST may change a lease that ends at `end`.
bool MayExpire(const Call& call, TimeMs end, TimeMs now);

// Whether the operation belongs to the Redis way.
bool IsRedis(Operation operation);

// Whether the operation concerns the whole server rather than a key.
bool IsSetting(Operation operation);

// Whether clients request the operation, so that it can be part of a step.
bool IsRequest(Operation operation);

// When a lease of `lease_ms` that starts now ends; a lease of 0 never ends.
TimeMs LeaseEnd(TimeMs now, DurationMs lease_ms);

const char* NameOf(Operation operation);
// The operation's relative frequency, unless a seed prefers another one.
std::uint64_t UsualWeightOf(Operation operation);

}  // namespace fairlock::simulation
