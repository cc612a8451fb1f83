// The requests that the Redis commands make to the lock engine, and their immediate results.
//
// The views in a request need to be valid only during the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/engine/api/types.h"

namespace fairlock::engine {

enum class WrittenEnd : std::uint8_t {
  kEndless,  // without EX, PX, EXAT or PXAT
  kKept,     // KEEPTTL: the lease stays as it is; a new hold never ends
  kAfter     // the lease ends `lease_ms` from now; if that is 0 or negative, at once
};

// SET and similar commands: the value becomes the owner, or already is the owner.
struct WriteRequest {
  KeyName key;
  std::string_view value;
  WrittenEnd end = WrittenEnd::kEndless;
  DurationMs lease_ms = 0;
  bool only_new = false;   // NX
  bool only_held = false;  // XX
  bool is_rename = false;  // INCR and similar commands: the kind of the hold does not change
};

enum class WriteStatus : std::uint8_t {
  kGranted,       // a new hold, which is undone if its reply is not delivered
  kRenewed,       // the value was the only holder
  kTakenOver,     // the holds of other owners were ended, and the value has a new hold
  kDenied,        // nil with NX, otherwise an error: nothing changed; see `reason`
  kNotHeld,       // XX: nobody holds it
  kNative,        // an error: the hold is native
  kLeaving,       // an error: BREAK with GRACE has fixed the end of a hold
  kTooManyLocks,  // errors, as in LockStatus
  kTooManyOfClient,
  kOutOfMemory
};

// Whether a configured bound, or the bound on memory, was reached.
constexpr bool IsRefusal(WriteStatus status) { return status >= WriteStatus::kTooManyLocks; }

// Whether the value is the owner now.
constexpr bool IsDone(WriteStatus status) {
  return status == WriteStatus::kGranted || status == WriteStatus::kRenewed ||
         status == WriteStatus::kTakenOver;
}

struct WriteResult {
  WriteStatus status = WriteStatus::kDenied;
  DenialReason reason = DenialReason::kNone;
  Token token = 0;
  std::uint64_t key_hash = 0;
};

// EXPIRE and similar commands, and PERSIST.
struct ExpiryRequest {
  KeyName key;
  std::optional<DurationMs> lease_ms =
      {};                     // from now; 0 or negative: the hold ends at once. None: it never ends
  bool only_endless = false;  // NX
  bool only_ending = false;   // XX
  bool only_later = false;    // GT: a hold without an end counts as the latest
  bool only_earlier = false;  // LT

  // Whether it may change a lease that ends at `end`, or never.
  bool MayChange(TimeMs end, TimeMs now) const {
    const bool is_endless = end >= kNever;
    const TimeMs asked_end = lease_ms ? now + *lease_ms : kNever;
    const bool is_excluded = (!lease_ms && is_endless) || (only_endless && !is_endless) ||
                             (only_ending && is_endless) ||
                             (only_later && (is_endless || asked_end <= end)) ||
                             (only_earlier && !is_endless && asked_end >= end);
    return !is_excluded;
  }
};

enum class ExpiryStatus : std::uint8_t {
  kUnchanged,
  kChanged,  // the lease has changed, or ended
  kLeaving   // an error: BREAK with GRACE has fixed the end of a hold
};

// A key as the Redis commands see it.
struct KeyLook {
  bool exists = false;
  bool is_held = false;
  bool is_semaphore = false;           // held SHARED or with a LIMIT above 1
  bool is_redis_way = false;           // held, but not by LOCK
  std::string_view owner = {};         // the owner of the oldest hold
  std::optional<DurationMs> ttl_ms{};  // none: no end

  // What GET returns for a key that exists.
  std::string_view value() const { return is_redis_way ? owner : std::string_view(); }
};

}  // namespace fairlock::engine
