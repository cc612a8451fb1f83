// The persistent state of locks as plain structs, and their encoding as rows of a record.
//
// Durations are in milliseconds. All views in a decoded row point into the bytes that it was
// decoded from.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/records/record.h"

namespace fairlock::storage {

inline constexpr std::uint64_t kStoredTokenMax = (std::uint64_t{1} << 53) - 1;

// Identifies a hold by its database, key and token. The key is needed because all holds of an MLOCK
// share one token.
struct HoldId {
  std::uint8_t db = 0;
  std::uint64_t token = 0;
  std::string_view key;

  friend bool operator==(const HoldId&, const HoldId&) = default;
};

// The options that holds and queued requests have in common.
struct ClaimRow {
  std::string_view owner;
  std::uint64_t limit = 1;  // as the client sent it
  bool is_shared = false;
  bool is_limit_given = false;
  bool is_redis_way = false;  // requested by SET NX or a similar Redis command, not by LOCK
  std::optional<std::uint64_t> lease_ms;          // absent: no lease
  std::optional<std::uint64_t> session_grace_ms;  // option SESSION
  std::uint64_t min_hold_ms = 0;
  std::optional<std::string_view> meta;
  std::optional<std::string_view> label;
  std::optional<std::string_view> notify_channel;
  std::vector<std::string_view>
      mlock_keys;  // all keys of the MLOCK, in its order; empty for a single lock

  friend bool operator==(const ClaimRow&, const ClaimRow&) = default;
};

struct HoldRow {
  HoldId id;
  ClaimRow claim;
  std::optional<std::uint64_t> remaining_ms = {};  // of the lease; absent: the lease starts anew

  friend bool operator==(const HoldRow&, const HoldRow&) = default;
};

// A place in the queue. An MLOCK has one place, in the queues of all its keys; `key` is the first
// key.
struct PlaceRow {
  std::uint64_t arrival = 0;  // identifies the place, and orders all places
  std::uint8_t db = 0;
  std::string_view key;
  ClaimRow claim;
  std::uint64_t keep_ms = 0;                  // 0: skipped until its owner asks again
  std::optional<std::uint64_t> wait_ms = {};  // how long it may wait, if that is limited

  friend bool operator==(const PlaceRow&, const PlaceRow&) = default;
};

// A slot that stays occupied (MINHOLD) after the hold `id` has ended.
struct CooldownRow {
  HoldId id;
  std::uint64_t limit = 1;
  bool is_shared = false;
  bool is_limit_given = false;
  std::uint64_t length_ms = 0;                     // total duration of the cooldown
  std::optional<std::uint64_t> remaining_ms = {};  // absent: the cooldown starts anew

  friend bool operator==(const CooldownRow&, const CooldownRow&) = default;
};

struct LimitId {
  std::uint8_t db = 0;
  std::string_view pattern;

  friend bool operator==(const LimitId&, const LimitId&) = default;
};

// An operator's override of LIMIT.
struct LimitRow {
  LimitId id;
  std::uint64_t limit = 0;
  std::uint64_t age = 0;  // among equally specific patterns, the newest has the highest value
  std::optional<std::uint64_t> length_ms;
  std::optional<std::uint64_t> remaining_ms;
  std::uint64_t set_at_unix_ms = 0;  // for display only
  std::string_view set_by;
  std::string_view set_from;  // client address
  std::string_view reason;

  friend bool operator==(const LimitRow&, const LimitRow&) = default;
};

enum class MetaName : std::uint8_t {
  kTokenCeiling = 1,  // number: no token at or above it was ever granted
  kLastRun = 2,       // text: the boot ID of the machine; number: the kLastRun flags
};

// Flags of the row kLastRun.
inline constexpr std::uint64_t kLastRunStoppedCleanly = 1;
inline constexpr std::uint64_t kLastRunPersistedLocks = 2;  // its durability was not `none`
inline constexpr std::uint64_t kLastRunSynced = 4;          // its durability was `sync`
// Leases may have been lost before that run, and its start_delay had not ended.
inline constexpr std::uint64_t kLastRunDelayedGrants = 8;

struct MetaRow {
  MetaName name = MetaName::kTokenCeiling;
  std::uint64_t number = 0;
  std::string_view text = {};

  friend bool operator==(const MetaRow&, const MetaRow&) = default;
};

// Adds one change to the record. Does not allocate if the record's buffer is large enough.
void PutRow(RecordWriter& record, const HoldRow& row);
void PutRow(RecordWriter& record, const PlaceRow& row);
void PutRow(RecordWriter& record, const CooldownRow& row);
void PutRow(RecordWriter& record, const LimitRow& row);
void PutRow(RecordWriter& record, const MetaRow& row);
void DeleteHold(RecordWriter& record, const HoldId& id);
void DeletePlace(RecordWriter& record, std::uint64_t arrival);
void DeleteCooldown(RecordWriter& record, const HoldId& id);
void DeleteLimit(RecordWriter& record, const LimitId& id);

// Decodes a row of the given type. Returns false if the bytes are not exactly what PutRow writes;
// `row` is then unspecified.
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, HoldRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, PlaceRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, CooldownRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, LimitRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, MetaRow& row);

// Decodes the key of a deleted row.
[[nodiscard]] bool DecodeHoldId(std::string_view key, HoldId& id);
[[nodiscard]] bool DecodeLimitId(std::string_view key, LimitId& id);
[[nodiscard]] bool DecodeArrival(std::string_view key, std::uint64_t& arrival);

// Whether the change is a valid row of its kind, or the deletion of one.
bool IsWellFormed(const Change& change);

}  // namespace fairlock::storage
