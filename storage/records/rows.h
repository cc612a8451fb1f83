// The encoding of rows: those of the state (rows/lock_rows.h and rows/value_rows.h), and the others
// in a log.
//
// Durations are in milliseconds. All views in a decoded row point into the bytes that it was
// decoded from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rows/lock_rows.h"
#include "rows/value_rows.h"
#include "storage/records/record.h"

namespace fairlock::storage {

inline constexpr std::uint64_t kStoredTokenMax = (std::uint64_t{1} << 53) - 1;

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
  std::string_view set_from;  // the address of the client that set it
  std::string_view reason;

  friend bool operator==(const LimitRow&, const LimitRow&) = default;
};

enum class MetaName : std::uint8_t {
  kTokenCeiling = 1,  // number: every token that was ever granted is below this
  kLastRun = 2,       // text: the boot ID of the machine; number: the kLastRun flags
  // number: for how many milliseconds the runs of this log have served so far, all together; text:
  // kServedBegin in the first such row of a run, else empty.
  kServed = 3,
  // number: for how many milliseconds the next run grants nothing new, because locks that were
  // acknowledged may be missing; 0 once that time is over.
  kGrantDelay = 4,
};

inline constexpr std::string_view kServedBegin = "begin";

// Flags of the row kLastRun.
inline constexpr std::uint64_t kLastRunStoppedCleanly = 1;
inline constexpr std::uint64_t kLastRunPersistedLocks = 2;  // its durability was not `none`
inline constexpr std::uint64_t kLastRunSynced = 4;          // its durability was `sync`
// Leases may have been lost before that run, and its start delay had not ended.
inline constexpr std::uint64_t kLastRunDelayedGrants = 8;

struct MetaRow {
  MetaName name = MetaName::kTokenCeiling;
  std::uint64_t number = 0;
  std::string_view text = {};

  friend bool operator==(const MetaRow&, const MetaRow&) = default;
};

// Adds one change to the record. Does not allocate if the record's buffer is large enough.
void PutRow(RecordWriter& record, const rows::Hold& row);
void PutRow(RecordWriter& record, const rows::Place& row);
void PutRow(RecordWriter& record, const rows::Cooldown& row);
void PutRow(RecordWriter& record, const LimitRow& row);
void PutRow(RecordWriter& record, const MetaRow& row);
void PutRow(RecordWriter& record, const rows::Value& row);
void PutRow(RecordWriter& record, const rows::Element& row);
void DeleteHold(RecordWriter& record, const rows::HoldId& id);
void DeletePlace(RecordWriter& record, std::uint64_t arrival);
void DeleteCooldown(RecordWriter& record, const rows::HoldId& id);
void DeleteLimit(RecordWriter& record, const LimitId& id);
void DeleteValue(RecordWriter& record, const rows::ValueId& id);
// Of the row, only what identifies it counts.
void DeleteElement(RecordWriter& record, const rows::Element& row);

// Decodes a row of the given type. Returns false if the bytes are not exactly what PutRow writes;
// `row` is then unspecified.
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, rows::Hold& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, rows::Place& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, rows::Cooldown& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, LimitRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, MetaRow& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, rows::Value& row);
[[nodiscard]] bool DecodeRow(std::string_view key, std::string_view value, rows::Element& row);

// Decodes the key of a deleted row.
[[nodiscard]] bool DecodeHoldId(std::string_view key, rows::HoldId& id);
[[nodiscard]] bool DecodeLimitId(std::string_view key, LimitId& id);
[[nodiscard]] bool DecodeValueId(std::string_view key, rows::ValueId& id);
[[nodiscard]] bool DecodeElementId(std::string_view key, rows::Element& row);
[[nodiscard]] bool DecodeArrival(std::string_view key, std::uint64_t& arrival);

// The number of the value whose row has that value; 0: it is small.
std::uint64_t NumberOfValue(std::string_view value);
// What the keys of all elements of that value begin with, and no others.
std::string KeyPrefixOfElements(std::uint64_t value_number);

// Whether the change is a valid row of its kind, or the deletion of one.
bool IsWellFormed(const Change& change);

}  // namespace fairlock::storage
