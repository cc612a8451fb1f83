// What is kept of locks, as plain structs, and their form as rows of a record.
//
// Lengths of time are in milliseconds. All views in a decoded row are into the bytes it came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/records/record.h"

namespace fairlock::storage {

inline constexpr std::uint64_t kStoredTokenMax = (std::uint64_t{1} << 53) - 1;

// A key of a database, and the token of the hold there: unique also among the keys of an MLOCK.
struct HoldId {
  std::uint8_t db = 0;
  std::uint64_t token = 0;
  std::string_view key;

  friend bool operator==(const HoldId&, const HoldId&) = default;
};

// The options that holds and places have alike.
struct ClaimRow {
  std::string_view owner;
  std::uint64_t limit = 1;  // as the client gave it
  bool is_shared = false;
  bool is_limit_given = false;
  bool is_redis_way = false;              // taken, or asked for, by SET NX and its kin, not by LOCK
  std::optional<std::uint64_t> lease_ms;  // none: without end
  std::optional<std::uint64_t> session_grace_ms;  // SESSION
  std::uint64_t min_hold_ms = 0;
  std::optional<std::string_view> meta;
  std::optional<std::string_view> label;
  std::optional<std::string_view> notify_channel;
  std::vector<std::string_view> mlock_keys;  // all keys of the MLOCK, in its order; else empty

  friend bool operator==(const ClaimRow&, const ClaimRow&) = default;
};

struct HoldRow {
  HoldId id;
  ClaimRow claim;
  std::optional<std::uint64_t> remaining_ms = {};  // of the lease, if it is not to start anew

  friend bool operator==(const HoldRow&, const HoldRow&) = default;
};

// A place in line. An MLOCK has one, in the lines of all its keys; `key` is then the first.
struct PlaceRow {
  std::uint64_t arrival = 0;  // its name, and its order among all places
  std::uint8_t db = 0;
  std::string_view key;
  ClaimRow claim;
  std::uint64_t keep_ms = 0;                  // 0: passed over until its owner asks again
  std::optional<std::uint64_t> wait_ms = {};  // how long it may wait, if that has an end

  friend bool operator==(const PlaceRow&, const PlaceRow&) = default;
};

// A room that MINHOLD keeps taken after the hold `id` has ended.
struct CoolingRow {
  HoldId id;
  std::uint64_t limit = 1;
  bool is_shared = false;
  bool is_limit_given = false;
  std::uint64_t length_ms = 0;                     // how long rooms of that hold stay taken in all
  std::optional<std::uint64_t> remaining_ms = {};  // if it is not to start anew

  friend bool operator==(const CoolingRow&, const CoolingRow&) = default;
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
  std::uint64_t age = 0;  // the newest of equally specific patterns has the highest
  std::optional<std::uint64_t> length_ms;
  std::optional<std::uint64_t> remaining_ms;
  std::uint64_t set_at_unix_ms = 0;  // for people who look
  std::string_view set_by;
  std::string_view set_from;  // the address
  std::string_view reason;

  friend bool operator==(const LimitRow&, const LimitRow&) = default;
};

enum class MetaName : std::uint8_t {
  kTokenCeiling = 1,  // number: no token at or above it was ever granted
  kLastRun = 2,       // text: the boot id of the machine; number: the LastRun flags
};

// Flags of the row kLastRun.
inline constexpr std::uint64_t kLastRunStoppedCleanly = 1;
inline constexpr std::uint64_t kLastRunKeptLocks = 2;  // its durability was not `none`
inline constexpr std::uint64_t kLastRunSynced = 4;     // its durability was `sync`
// Leases may have been lost before it, and its start_delay was not over.
inline constexpr std::uint64_t kLastRunDelayedGrants = 8;

struct MetaRow {
  MetaName name = MetaName::kTokenCeiling;
  std::uint64_t number = 0;
  std::string_view text = {};

  friend bool operator==(const MetaRow&, const MetaRow&) = default;
};

// Adds one change to the record. Allocates nothing while the record's buffer is large enough.
void PutRow(RecordWriter& record, const HoldRow& row);
void PutRow(RecordWriter& record, const PlaceRow& row);
void PutRow(RecordWriter& record, const CoolingRow& row);
void PutRow(RecordWriter& record, const LimitRow& row);
void PutRow(RecordWriter& record, const MetaRow& row);
void DeleteHold(RecordWriter& record, const HoldId& id);
void DeletePlace(RecordWriter& record, std::uint64_t arrival);
void DeleteCooling(RecordWriter& record, const HoldId& id);
void DeleteLimit(RecordWriter& record, const LimitId& id);

// Reads the row of its kind: false, with `row` in no particular state, if the bytes are not exactly
// what PutRow writes.
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, HoldRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, PlaceRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, CoolingRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, LimitRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, MetaRow& row);

// The key of a deleted row.
[[nodiscard]] bool DecodeHoldId(std::string_view key, HoldId& id);
[[nodiscard]] bool DecodeLimitId(std::string_view key, LimitId& id);
[[nodiscard]] bool DecodeArrival(std::string_view key, std::uint64_t& arrival);

// Whether a change is a row of its kind, or the deletion of one.
bool IsWellFormed(const Change& change);

}  // namespace fairlock::storage
