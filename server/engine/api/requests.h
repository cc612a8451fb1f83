// The requests that a caller makes to the lock engine, and their immediate results.
//
// The views in a request need to be valid only during the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::engine {

struct LockRequest {
  KeyName key;
  std::string_view owner;
  // EX / PX; if absent, the default lease, or no lease if SESSION is given.
  std::optional<DurationMs> lease_ms = {};
  DurationMs wait_ms = 0;                         // 0: do not wait; kForever: no time limit
  DurationMs keep_ms = 0;                         // KEEP: how long the place outlives the request
  std::optional<std::uint32_t> limit = {};        // LIMIT as the client gave it; 1 if absent
  bool is_shared = false;                         // SHARED; cannot be combined with LIMIT
  Terms terms = {};                               // SESSION, MINHOLD
  std::optional<std::uint32_t> waiters_max = {};  // MAXWAITERS
  bool replaces_newest = false;                   // REPLACE
  bool only_new = false;                          // NEW: nil if the owner already holds it
  bool is_redis_way = false;  // SET NX and similar commands; a lease of 0 never ends
  // SET NX: if denied, it takes a place, provided that the keep rules give it one.
  bool takes_place = false;
  std::optional<std::string_view> meta = {};
  std::optional<std::string_view> label = {};
  // NOTIFY: the channel on which the outcome and the loss of the hold are published. It must have
  // a subscriber now. From now on, the caller must report changes by OpenChannel and CloseChannel.
  std::optional<std::string_view> notify = {};

  Mode mode() const { return {limit.value_or(1), is_shared, limit.has_value()}; }
  // Whether its hold fits into the lock entry itself, without a claim.
  bool is_plain() const {
    return limit.value_or(1) == 1 && !is_shared && !notify && terms == Terms{};
  }
};

// For MLOCK, MRENEW and MUNLOCK: 1 to kMlockKeysMax different keys of one database. `each` is the
// request that is made for each of them; it names the owner, but no key.
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
  std::optional<DurationMs> lease_ms = {};  // if absent, the recorded length of the hold's lease
  std::optional<Token> token = {};
  bool only_lengthens = false;  // neither the end of the lease nor its recorded length is reduced
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
  std::optional<DurationMs> lease_ms = {};  // if absent, what is left of the old lease
  std::optional<Token> token = {};
};

struct WaitRequest {
  KeyName key;
  DurationMs timeout_ms = 0;  // 0: do not wait; kForever: no time limit
};

enum class LockStatus : std::uint8_t {
  kGranted,
  kAlready,  // the owner held it already and keeps its token
  kQueued,  // it waits: a later step replies with a Resolution, or with a Notice if NOTIFY is given
  kKept,    // nil now, but the owner keeps a place because of KEEP
  kDenied,  // nil now, with the reason
  // An error: the owner holds it SHARED, or with a LIMIT, in a way that does not cover this
  // request; nothing changed.
  kModeDiffers,
  // An error: MLOCK by an owner that holds or waits for one of the keys, `key`, by other means than
  // an MLOCK of exactly these keys; nothing changed.
  kStakedOtherwise,
  kDeadlock,         // an error: the wait would never end, as Deadlocks::deadlock() says; nothing
                     // changed
  kWaitsByMlock,     // an error: LOCK of a key that the owner's MLOCK waits for; nothing changed
  kTooManyLocks,     // an error: the configured number of locks is reached; nothing changed
  kTooManyPlaces,    // an error: the configured number of places is reached; nothing changed
  kTooManyOnKey,     // an error: the same for the places on one key, namely `key`
  kTooManyOfClient,  // an error: the same for the holds and places of one client
  kOutOfMemory       // an error: memory is short, and this request would need more; nothing changed
};

// Whether a configured bound, or the bound on memory, was reached.
constexpr bool IsRefusal(LockStatus status) { return status >= LockStatus::kTooManyLocks; }

struct LockResult {
  LockStatus status = LockStatus::kDenied;
  DenialReason reason = DenialReason::kNone;  // for kQueued, kKept and kDenied
  Token token = 0;                            // for kGranted and kAlready
  std::uint64_t key_hash = 0;                 // for kGranted: the argument of UndoGrant
  std::size_t key = 0;  // for MLOCK: the index of the key that the reason is about
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
  kTooManyPlaces,  // errors, as in LockStatus
  kTooManyOnKey,
  kOutOfMemory
};

// What BREAK has ended. Only a BREAK without an owner ends slots without a hold: reserved ones and
// those in cooldown.
struct BreakResult {
  std::uint64_t holds = 0;
  std::uint64_t slots_without_hold = 0;
};

// A reason why a wait would never end: `waiter` waits for `key`; `blocker` holds it, or is ahead of
// the waiter in its queue.
struct DeadlockLink {
  std::string_view waiter;
  KeyName key;
  std::string_view blocker;
  bool is_held = false;
};

// The first links of a chain that begins with the asker. The blocker of each link is the waiter of
// the next; the blocker of the chain's last link is the asker or an owner named earlier. The views
// are valid until the next call of the engine, but not longer than the request.
struct Deadlock {
  static constexpr std::size_t kLinksMax = 8;

  std::vector<DeadlockLink> links;
  std::size_t link_count = 0;  // the length of the whole chain
};

// A limit with which an operator replaces the LIMITs of clients.
struct LimitOverride {
  std::uint8_t db = 0;
  std::string pattern;      // a glob for keys of that database
  std::uint32_t limit = 0;  // 0 drains the keys: no new holder, with or without LIMIT
  std::string reason;
  std::string user;     // who set it
  std::string address;  // the network address of that user
  TimeMs since = 0;
  TimeMs end = kNever;
};

}  // namespace fairlock::engine
