#include "storage/records/rows.h"

#include <cassert>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "storage/byte_coding.h"

namespace fairlock::storage {
namespace {

// The flags of a hold or a place: boolean values, and bits that say which optional parts follow. An
// unknown bit means that a later version wrote the row, so a bit must never get another meaning.
enum ClaimFlag : std::uint64_t {
  kShared = 1U << 0,
  kRedisWay = 1U << 1,
  kLimitGiven = 1U << 2,
  kLimit = 1U << 3,
  kLease = 1U << 4,
  kRemaining = 1U << 5,  // only of holds
  kSession = 1U << 6,
  kMinHold = 1U << 7,
  kMeta = 1U << 8,
  kLabel = 1U << 9,
  kNotify = 1U << 10,
  kMlock = 1U << 11,
  kKeep = 1U << 12,     // only of places
  kWait = 1U << 13,     // only of places
  kLeaving = 1U << 14,  // only of holds
};
constexpr std::uint64_t kClaimFlags = (1U << 15) - 1;
constexpr std::uint64_t kHoldFlags = kClaimFlags & ~std::uint64_t{kKeep | kWait};
constexpr std::uint64_t kPlaceFlags = kClaimFlags & ~std::uint64_t{kRemaining | kLeaving};
// These have no part.
constexpr std::uint64_t kBooleanFlags = kShared | kRedisWay | kLimitGiven | kLeaving;

// Calls `part` for each optional part of a rows::Hold or rows::Place, in the order of the bits,
// which is also the order of the parts in the encoding. The arguments are the flag, the value, and
// the value that means that the part is absent. A new option is one line here.
template <typename Row, typename Part>
void ForEachPart(Row& row, Part&& part) {
  auto& claim = row.claim;
  part(kLimit, claim.mode.limit, 1U);
  part(kLease, claim.lease_ms);
  if constexpr (requires { row.remaining_ms; }) part(kRemaining, row.remaining_ms);
  part(kSession, claim.terms.session_grace_ms);
  part(kMinHold, claim.terms.min_hold_ms);
  part(kMeta, claim.meta);
  part(kLabel, claim.label);
  part(kNotify, claim.channel);
  part(kMlock, claim.mlock_keys);
  if constexpr (requires { row.keep_ms; }) {
    part(kKeep, row.keep_ms);
    part(kWait, row.wait_ms);
  }
}

constexpr std::uint64_t kCooldownShared = 1;
constexpr std::uint64_t kCooldownLimitGiven = 4;
constexpr std::uint64_t kCooldownRemaining = 2;
constexpr std::uint64_t kLimitLength = 1;
constexpr std::uint64_t kLimitRemaining = 2;

std::uint64_t Flag(bool is_set, std::uint64_t flag) { return is_set ? flag : 0; }

template <typename Row>
std::uint64_t FlagsOf(const Row& row) {
  std::uint64_t flags = Flag(row.claim.mode.is_shared, kShared) |
                        Flag(row.claim.is_redis_way, kRedisWay) |
                        Flag(row.claim.mode.is_limit_given, kLimitGiven);
  if constexpr (requires { row.is_leaving; }) flags |= Flag(row.is_leaving, kLeaving);
  ForEachPart(row, [&]<typename Value>(ClaimFlag flag, const Value& value, Value absent = {}) {
    flags |= Flag(value != absent, flag);
  });
  return flags;
}

// An upper bound on the encoded size of the claim, which assumes the maximum length for each
// number.
std::size_t BytesMax(const rows::Claim& claim) {
  std::size_t bytes = 16 * kVarintBytesMax + claim.owner.size() + claim.label.size();
  if (claim.meta) bytes += claim.meta->size();
  if (claim.channel) bytes += claim.channel->size();
  for (const std::string_view key : claim.mlock_keys) bytes += key.size() + kVarintBytesMax;
  return bytes;
}

char* WritePart(char* to, std::uint32_t number) { return WriteVarint(to, number); }
char* WritePart(char* to, rows::DurationMs duration_ms) {
  return WriteVarint(to, static_cast<std::uint64_t>(duration_ms));
}
char* WritePart(char* to, std::string_view text) { return WriteString(to, text); }
char* WritePart(char* to, const std::vector<std::string_view>& keys) {
  to = WriteVarint(to, keys.size());
  for (const std::string_view key : keys) to = WriteString(to, key);
  return to;
}
template <typename Value>
char* WritePart(char* to, const std::optional<Value>& value) {
  return WritePart(to, *value);
}

template <typename Row>
char* WriteClaim(char* to, const Row& row) {
  const std::uint64_t flags = FlagsOf(row);
  to = WriteString(WriteVarint(to, flags), row.claim.owner);
  // Nearly every hold has a lease and nothing else.
  if ((flags & ~kBooleanFlags) == kLease) {
    return WritePart(to, row.claim.lease_ms);
  }
  ForEachPart(row, [&]<typename Value>(ClaimFlag flag, const Value& value, Value = {}) {
    if ((flags & flag) != 0) to = WritePart(to, value);
  });
  return to;
}

template <typename Number>
Number NumberOf(ByteReader& bytes) {
  const std::uint64_t number = bytes.Varint();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<Number>::max())) bytes.Fail();
  return static_cast<Number>(number);
}

void ReadPart(ByteReader& bytes, std::uint32_t& number) { number = NumberOf<std::uint32_t>(bytes); }
void ReadPart(ByteReader& bytes, rows::DurationMs& duration_ms) {
  duration_ms = NumberOf<rows::DurationMs>(bytes);
}
void ReadPart(ByteReader& bytes, std::string_view& text) { text = bytes.String(); }
void ReadPart(ByteReader& bytes, std::vector<std::string_view>& keys) {
  const std::uint64_t count = bytes.Varint();
  // Each key takes at least two bytes. This check prevents a damaged count from reserving much
  // memory.
  if (count > bytes.rest_bytes()) return bytes.Fail();
  for (std::uint64_t i = 0; i < count && bytes.ok(); ++i) {
    keys.push_back(bytes.String());
    if (keys.back().empty()) bytes.Fail();
  }
}
template <typename Value>
void ReadPart(ByteReader& bytes, std::optional<Value>& value) {
  ReadPart(bytes, value.emplace());
}

template <typename Row>
void ReadClaim(ByteReader& bytes, std::uint64_t known_flags, Row& row) {
  row.claim = {};
  const std::uint64_t flags = bytes.Varint();
  if ((flags & ~known_flags) != 0) bytes.Fail();
  row.claim.mode.is_shared = (flags & kShared) != 0;
  row.claim.is_redis_way = (flags & kRedisWay) != 0;
  row.claim.mode.is_limit_given = (flags & kLimitGiven) != 0;
  if constexpr (requires { row.is_leaving; }) row.is_leaving = (flags & kLeaving) != 0;
  row.claim.owner = bytes.String();
  if (row.claim.owner.empty()) bytes.Fail();
  ForEachPart(row, [&]<typename Value>(ClaimFlag flag, Value& value, Value absent = {}) {
    value = absent;
    if ((flags & flag) == 0 || !bytes.ok()) return;
    ReadPart(bytes, value);
    // PutRow never writes a part with the value that means "absent".
    if (value == absent) bytes.Fail();
  });
}

std::size_t BytesMax(const rows::HoldId& id) { return 1 + 3 * kVarintBytesMax + id.key.size(); }

char* WriteLimitId(char* to, const LimitId& id) {
  to = WriteVarint(to, 1 + id.pattern.size());
  *to++ = static_cast<char>(id.db);
  return WriteBytes(to, id.pattern);
}

char* WriteHoldId(char* to, const rows::HoldId& id) {
  to = WriteVarint(to, 1 + VarintBytes(id.token) + id.key.size());
  *to++ = static_cast<char>(id.db);
  return WriteBytes(WriteVarint(to, id.token), id.key);
}

// Writes a value with `write`, and its length in front of it. One byte is reserved for the length;
// a value of 128 bytes or more is then moved to make space for a longer length.
template <typename Write>
char* WriteValue(char* to, const Write& write) {
  char* const value = to + 1;
  char* const end = write(value);
  const auto bytes = static_cast<std::size_t>(end - value);
  const std::size_t more = VarintBytes(bytes) - 1;
  if (more > 0) std::memmove(value + more, value, bytes);
  WriteVarint(to, bytes);
  return end + more;
}

char* WriteKind(char* to, RowKind kind, std::uint8_t bits = 0) {
  *to++ = static_cast<char>(static_cast<std::uint8_t>(kind) | bits);
  return to;
}

bool IsMetaName(std::uint8_t name) {
  return name == static_cast<std::uint8_t>(MetaName::kTokenCeiling) ||
         name == static_cast<std::uint8_t>(MetaName::kLastRun) ||
         name == static_cast<std::uint8_t>(MetaName::kServed) ||
         name == static_cast<std::uint8_t>(MetaName::kGrantDelay);
}

template <typename Row>
bool IsRow(const Change& change) {
  Row row;
  return DecodeRow(change.key, change.value, row);
}

}  // namespace

void PutRow(RecordWriter& record, const rows::Hold& row) {
  char* to = record.BeginChange(BytesMax(row.id) + BytesMax(row.claim));
  to = WriteHoldId(WriteKind(to, RowKind::kHold), row.id);
  record.EndChange(WriteValue(to, [&](char* value) { return WriteClaim(value, row); }));
}

void PutRow(RecordWriter& record, const rows::Place& row) {
  char* to = record.BeginChange(BytesMax(row.claim) + row.key.size() + 6 * kVarintBytesMax);
  to = WriteVarint(WriteKind(to, RowKind::kPlace), VarintBytes(row.arrival));
  to = WriteVarint(to, row.arrival);
  record.EndChange(WriteValue(to, [&](char* value) {
    *value++ = static_cast<char>(row.db);
    return WriteClaim(WriteString(value, row.key), row);
  }));
}

void PutRow(RecordWriter& record, const rows::Cooldown& row) {
  char* to = record.BeginChange(BytesMax(row.id) + 6 * kVarintBytesMax);
  to = WriteHoldId(WriteKind(to, RowKind::kCooldown), row.id);
  const std::uint64_t flags = Flag(row.mode.is_shared, kCooldownShared) |
                              Flag(row.remaining_ms.has_value(), kCooldownRemaining) |
                              Flag(row.mode.is_limit_given, kCooldownLimitGiven);
  record.EndChange(WriteValue(to, [&](char* value) {
    value = WriteVarint(WriteVarint(value, flags), row.mode.limit);
    value = WritePart(value, row.length_ms);
    return row.remaining_ms ? WritePart(value, *row.remaining_ms) : value;
  }));
}

void PutRow(RecordWriter& record, const LimitRow& row) {
  const std::size_t strings =
      row.id.pattern.size() + row.set_by.size() + row.set_from.size() + row.reason.size();
  char* to = record.BeginChange(strings + 12 * kVarintBytesMax);
  to = WriteLimitId(WriteKind(to, RowKind::kLimit), row.id);
  const std::uint64_t flags = Flag(row.length_ms.has_value(), kLimitLength) |
                              Flag(row.remaining_ms.has_value(), kLimitRemaining);
  record.EndChange(WriteValue(to, [&](char* value) {
    value = WriteVarint(WriteVarint(value, flags), row.limit);
    value = WriteVarint(WriteVarint(value, row.age), row.set_at_unix_ms);
    if (row.length_ms) value = WriteVarint(value, *row.length_ms);
    if (row.remaining_ms) value = WriteVarint(value, *row.remaining_ms);
    return WriteString(WriteString(WriteString(value, row.set_by), row.set_from), row.reason);
  }));
}

void PutRow(RecordWriter& record, const MetaRow& row) {
  char* to = record.BeginChange(row.text.size() + 5 * kVarintBytesMax);
  to = WriteVarint(WriteKind(to, RowKind::kMeta), 1);
  *to++ = static_cast<char>(row.name);
  record.EndChange(WriteValue(
      to, [&](char* value) { return WriteString(WriteVarint(value, row.number), row.text); }));
}

void DeleteHold(RecordWriter& record, const rows::HoldId& id) {
  char* to = record.BeginChange(BytesMax(id));
  record.EndChange(WriteHoldId(WriteKind(to, RowKind::kHold, kDeletionBit), id));
}

void DeletePlace(RecordWriter& record, std::uint64_t arrival) {
  char* to = record.BeginChange(1 + 2 * kVarintBytesMax);
  to = WriteVarint(WriteKind(to, RowKind::kPlace, kDeletionBit), VarintBytes(arrival));
  record.EndChange(WriteVarint(to, arrival));
}

void DeleteCooldown(RecordWriter& record, const rows::HoldId& id) {
  char* to = record.BeginChange(BytesMax(id));
  record.EndChange(WriteHoldId(WriteKind(to, RowKind::kCooldown, kDeletionBit), id));
}

void DeleteLimit(RecordWriter& record, const LimitId& id) {
  char* to = record.BeginChange(id.pattern.size() + 2 * kVarintBytesMax);
  record.EndChange(WriteLimitId(WriteKind(to, RowKind::kLimit, kDeletionBit), id));
}

bool DecodeHoldId(std::string_view key, rows::HoldId& id) {
  ByteReader bytes(key);
  id.db = bytes.Fixed<std::uint8_t>();
  id.token = bytes.Varint();
  id.key = bytes.Bytes(bytes.rest_bytes());
  return bytes.ok() && id.token <= kStoredTokenMax;
}

bool DecodeLimitId(std::string_view key, LimitId& id) {
  ByteReader bytes(key);
  id.db = bytes.Fixed<std::uint8_t>();
  id.pattern = bytes.Bytes(bytes.rest_bytes());
  return bytes.ok() && !id.pattern.empty();
}

bool DecodeArrival(std::string_view key, std::uint64_t& arrival) {
  ByteReader bytes(key);
  arrival = bytes.Varint();
  return bytes.AtEnd();
}

bool DecodeRow(std::string_view key, std::string_view value, rows::Hold& row) {
  ByteReader bytes(value);
  ReadClaim(bytes, kHoldFlags, row);
  return DecodeHoldId(key, row.id) && bytes.AtEnd();
}

bool DecodeRow(std::string_view key, std::string_view value, rows::Place& row) {
  ByteReader bytes(value);
  row.db = bytes.Fixed<std::uint8_t>();
  row.key = bytes.String();
  ReadClaim(bytes, kPlaceFlags, row);
  return DecodeArrival(key, row.arrival) && bytes.AtEnd();
}

bool DecodeRow(std::string_view key, std::string_view value, rows::Cooldown& row) {
  ByteReader bytes(value);
  const std::uint64_t flags = bytes.Varint();
  row.mode.is_shared = (flags & kCooldownShared) != 0;
  row.mode.is_limit_given = (flags & kCooldownLimitGiven) != 0;
  ReadPart(bytes, row.mode.limit);
  ReadPart(bytes, row.length_ms);
  row.remaining_ms.reset();
  if ((flags & kCooldownRemaining) != 0) ReadPart(bytes, row.remaining_ms);
  return DecodeHoldId(key, row.id) && bytes.AtEnd() &&
         (flags & ~(kCooldownShared | kCooldownRemaining | kCooldownLimitGiven)) == 0;
}

bool DecodeRow(std::string_view key, std::string_view value, LimitRow& row) {
  ByteReader bytes(value);
  const std::uint64_t flags = bytes.Varint();
  row.limit = bytes.Varint();
  row.age = bytes.Varint();
  row.set_at_unix_ms = bytes.Varint();
  row.length_ms.reset();
  row.remaining_ms.reset();
  if ((flags & kLimitLength) != 0) row.length_ms = bytes.Varint();
  if ((flags & kLimitRemaining) != 0) row.remaining_ms = bytes.Varint();
  row.set_by = bytes.String();
  row.set_from = bytes.String();
  row.reason = bytes.String();
  return DecodeLimitId(key, row.id) && bytes.AtEnd() &&
         (flags & ~(kLimitLength | kLimitRemaining)) == 0;
}

bool DecodeRow(std::string_view key, std::string_view value, MetaRow& row) {
  ByteReader bytes(value);
  row.number = bytes.Varint();
  row.text = bytes.String();
  if (key.size() != 1 || !IsMetaName(static_cast<std::uint8_t>(key[0]))) return false;
  row.name = static_cast<MetaName>(key[0]);
  return bytes.AtEnd();
}

bool IsWellFormed(const Change& change) {
  rows::HoldId id;
  LimitId limit;
  std::uint64_t arrival = 0;
  rows::ValueId value;
  rows::Element element;
  switch (change.kind) {
    case RowKind::kHold:
      return change.is_deletion ? DecodeHoldId(change.key, id) : IsRow<rows::Hold>(change);
    case RowKind::kPlace:
      return change.is_deletion ? DecodeArrival(change.key, arrival) : IsRow<rows::Place>(change);
    case RowKind::kCooldown:
      return change.is_deletion ? DecodeHoldId(change.key, id) : IsRow<rows::Cooldown>(change);
    case RowKind::kLimit:
      return change.is_deletion ? DecodeLimitId(change.key, limit) : IsRow<LimitRow>(change);
    case RowKind::kMeta:
      return !change.is_deletion && IsRow<MetaRow>(change);
    case RowKind::kValue:
      return change.is_deletion ? DecodeValueId(change.key, value) : IsRow<rows::Value>(change);
    case RowKind::kElement:
      return change.is_deletion ? DecodeElementId(change.key, element)
                                : IsRow<rows::Element>(change);
  }
  return false;
}

}  // namespace fairlock::storage
