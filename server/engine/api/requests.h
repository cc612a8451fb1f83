// What a caller asks of the lock engine, and what it learns at once.
//
// All views in a request need to live only for the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "server/engine/api/types.h"

namespace fairlock::engine {

struct LockRequest {
  KeyName key;
  std::string_view owner;
  // EX / PX; without it the default lease, none beside SESSION.
  std::optional<DurationMs> lease_ms = {};
  DurationMs wait_ms = 0;                         // 0: do not wait; kForever: without time limit
  DurationMs keep_ms = 0;                         // KEEP: how long the place outlives the request
  std::optional<std::uint32_t> limit = {};        // LIMIT as the client gave it; 1 without
  bool is_shared = false;                         // SHARED; excludes a LIMIT
  Terms terms = {};                               // SESSION, MINHOLD
  std::optional<std::uint32_t> waiters_max = {};  // MAXWAITERS
  bool replaces_newest = false;                   // REPLACE
  bool only_new = false;                          // NEW: nil if the owner holds it already
  bool is_redis_way = false;  // SET NX and its kin; a lease of 0 is one without end
  bool takes_place = false;   // SET NX: denied it takes a place, as far as the rules say so
  std::optional<std::string_view> meta = {};
  std::optional<std::string_view> label = {};
  // NOTIFY: the channel that the outcome and the loss of the hold are told on. It has a subscriber
  // now, and OpenChannel and CloseChannel say from now on whether it has.
  std::optional<std::string_view> notify = {};

  Mode mode() const { return {limit.value_or(1), is_shared, limit.has_value()}; }
  // Whether a hold of it fits into the lock entry itself, without a claim.
  bool is_plain() const {
    return limit.value_or(1) == 1 && !is_shared && !notify && terms == Terms{};
  }
};

// Of MLOCK, MRENEW and MUNLOCK: 1 to kMlockKeysMax different keys of one database. What is asked of
// each of them has their owner, and no key.
struct MlockRequest {
  std::span<const KeyName> keys;
  LockRequest each;
};

struct UnlockRequest {
  KeyName key;
  std::string_view owner;
  std::optional<Token> token = {};
};

struct RenewRequest {
  KeyName key;
  std::string_view owner;
  std::optional<DurationMs> lease_ms = {};  // without it the length that the hold has on record
  std::optional<Token> token = {};
};

struct MrenewRequest {
  std::span<const KeyName> keys;
  RenewRequest each;
};

struct MunlockRequest {
  std::span<const KeyName> keys;
  UnlockRequest each;
};

struct TransferRequest {
  KeyName key;
  std::string_view owner;
  std::string_view new_owner;
  std::optional<DurationMs> lease_ms = {};  // without it what is left of the lease goes along
  std::optional<Token> token = {};
};

struct WaitRequest {
  KeyName key;
  DurationMs timeout_ms = 0;  // 0: do not wait; kForever: without time limit
};

enum class LockStatus : std::uint8_t {
  kGranted,
  kAlready,      // the owner held it before; same token
  kQueued,       // it waits: the reply is a Resolution, by NOTIFY a Notice, of a later step
  kKept,         // nil now; by KEEP it has a place
  kDenied,       // nil now, with the reason
  kModeDiffers,  // an error: held SHARED or with a LIMIT that does not cover what is asked; nothing
                 // changed
  kStakedOtherwise,  // an error: MLOCK by an owner that holds or waits for one of the keys, `key`,
                     // other than by an MLOCK of exactly these; nothing changed
  kDeadlock,         // an error: the wait would never end, as LockEngine::deadlock() says; nothing
                     // changed
  kWaitsByMlock,     // an error: LOCK of a key that the owner's MLOCK waits for; nothing changed
  kTooManyLocks,     // an error: the configured number of locks is reached; nothing changed
  kTooManyPlaces,    // an error: the configured number of places is reached; nothing changed
  kTooManyOnKey,     // an error: the same of places on one key, `key`
  kTooManyOfClient,  // an error: the same of what one client holds and waits for
  kOutOfMemory       // an error: memory is short, and this would take more of it; nothing changed
};

// A configured bound, or that of memory.
constexpr bool IsRefusal(LockStatus status) { return status >= LockStatus::kTooManyLocks; }

struct LockResult {
  LockStatus status = LockStatus::kDenied;
  DenialReason reason = DenialReason::kNone;  // for kQueued, kKept and kDenied
  Token token = 0;                            // for kGranted and kAlready
  std::uint64_t key_hash = 0;                 // for kGranted: what UndoGrant asks for
  std::size_t key = 0;  // of MLOCK: which key the reason is about, counted from 0
};

enum class TransferStatus : std::uint8_t {
  kTransferred,
  kNotHeld,              // `owner` does not hold it (with that token)
  kNewOwnerHoldsAlready  // an error: nothing changed
};

struct TransferResult {
  TransferStatus status = TransferStatus::kNotHeld;
  Token token = 0;
};

enum class WaitStatus : std::uint8_t {
  kFree,
  kWaiting,
  kTimedOut,
  kTooManyPlaces,  // errors, as those of LockStatus
  kTooManyOnKey,
  kOutOfMemory
};

}  // namespace fairlock::engine
