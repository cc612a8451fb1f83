// What a caller asks of the lock engine, and what it learns at once.
//
// All views in a request need to live only for the call.
#pragma once

#include <optional>
#include <string_view>

#include "server/engine/types.h"

namespace fairlock::engine {

struct LockRequest {
  KeyName key;
  std::string_view owner;
  std::optional<DurationMs> lease_ms;  // EX / PX; without it the engine's default lease
  DurationMs wait_ms = 0;              // 0: do not wait; kForever: without time limit
  std::optional<std::uint32_t> limit;  // LIMIT as the client gave it; 1 without
  bool only_new = false;               // NEW: nil if the owner holds it already
  std::optional<std::string_view> meta;
  std::optional<std::string_view> label;
};

struct UnlockRequest {
  KeyName key;
  std::string_view owner;
  std::optional<Token> token;
};

struct RenewRequest {
  KeyName key;
  std::string_view owner;
  std::optional<DurationMs> lease_ms;  // without it the length that the hold has on record
  std::optional<Token> token;
};

struct TransferRequest {
  KeyName key;
  std::string_view owner;
  std::string_view new_owner;
  std::optional<DurationMs> lease_ms;  // without it what is left of the lease goes along
  std::optional<Token> token;
};

struct WaitRequest {
  KeyName key;
  DurationMs timeout_ms = 0;  // 0: do not wait; kForever: without time limit
};

enum class LockStatus : std::uint8_t {
  kGranted,
  kAlready,       // the owner held it before; same token
  kQueued,        // it waits: the reply is a Resolution of a later step
  kDenied,        // nil now, with the reason
  kLimitDiffers,  // an error: held with LIMIT above 1, asked for a lower one; nothing changed
  kTooManyLocks,  // an error: the configured number of locks is reached; nothing changed
  kTooManyPlaces  // an error: the configured number of places is reached; nothing changed
};

struct LockResult {
  LockStatus status = LockStatus::kDenied;
  DenialReason reason = DenialReason::kNone;  // for kQueued and kDenied
  Token token = 0;                            // for kGranted and kAlready
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

enum class WaitStatus : std::uint8_t { kFree, kWaiting, kTimedOut, kTooManyPlaces };

}  // namespace fairlock::engine
