#include "storage/records/rows.h"

#include <cassert>
#include <cstring>

#include "storage/byte_coding.h"

namespace fairlock::storage {
namespace {

// Flags for optional parts, and boolean values. The parts follow each other in the order of the
// bits; an unknown bit means that a later version wrote the row.
enum ClaimFlag : std::uint64_t {
  kShared = 1U << 0,
  kRedisWay = 1U << 1,
  kLimitGiven = 1U << 2,
  kLimit = 1U << 3,  // absent: 1
  kLease = 1U << 4,
  kRemaining = 1U << 5,
  kSession = 1U << 6,
  kMinHold = 1U << 7,
  kMeta = 1U << 8,
  kLabel = 1U << 9,
  kNotify = 1U << 10,
  kMlock = 1U << 11,
  kKeep = 1U << 12,
  kWait = 1U << 13,
};
constexpr std::uint64_t kHoldFlags = (1U << 12) - 1;
constexpr std::uint64_t kPlaceFlags = ((1U << 14) - 1) & ~std::uint64_t{kRemaining};

constexpr std::uint64_t kCooldownShared = 1;
constexpr std::uint64_t kCooldownLimitGiven = 4;
constexpr std::uint64_t kCooldownRemaining = 2;
constexpr std::uint64_t kLimitLength = 1;
constexpr std::uint64_t kLimitRemaining = 2;

std::uint64_t Flag(bool is_set, std::uint64_t flag) { return is_set ? flag : 0; }

std::uint64_t FlagsOf(const ClaimRow& claim) {
  return Flag(claim.is_shared, kShared) | Flag(claim.is_redis_way, kRedisWay) |
         Flag(claim.is_limit_given, kLimitGiven) | Flag(claim.limit != 1, kLimit) |
         Flag(claim.lease_ms.has_value(), kLease) |
         Flag(claim.session_grace_ms.has_value(), kSession) |
         Flag(claim.min_hold_ms != 0, kMinHold) | Flag(claim.meta.has_value(), kMeta) |
         Flag(claim.label.has_value(), kLabel) | Flag(claim.notify_channel.has_value(), kNotify) |
         Flag(!claim.mlock_keys.empty(), kMlock);
}

// An upper bound for the encoded size of the claim: every number counts with its maximum length.
std::size_t BytesMax(const ClaimRow& claim) {
  std::size_t bytes = 16 * kVarintBytesMax + claim.owner.size();
  if (claim.meta) bytes += claim.meta->size();
  if (claim.label) bytes += claim.label->size();
  if (claim.notify_channel) bytes += claim.notify_channel->size();
  for (const std::string_view key : claim.mlock_keys) bytes += key.size() + kVarintBytesMax;
  return bytes;
}

char* WriteKeys(char* to, const std::vector<std::string_view>& keys) {
  to = WriteVarint(to, keys.size());
  for (const std::string_view key : keys) to = WriteString(to, key);
  return to;
}

char* WriteClaim(char* to, std::uint64_t flags, const ClaimRow& claim,
                 const std::optional<std::uint64_t>& remaining_ms) {
  to = WriteVarint(to, flags);
  to = WriteString(to, claim.owner);
  if ((flags & ~std::uint64_t{kShared | kRedisWay | kLimitGiven}) == kLease) {
    return WriteVarint(to, *claim.lease_ms);
  }
  if ((flags & kLimit) != 0) to = WriteVarint(to, claim.limit);
  if ((flags & kLease) != 0) to = WriteVarint(to, *claim.lease_ms);
  if ((flags & kRemaining) != 0) to = WriteVarint(to, *remaining_ms);
  if ((flags & kSession) != 0) to = WriteVarint(to, *claim.session_grace_ms);
  if ((flags & kMinHold) != 0) to = WriteVarint(to, claim.min_hold_ms);
  if ((flags & kMeta) != 0) to = WriteString(to, *claim.meta);
  if ((flags & kLabel) != 0) to = WriteString(to, *claim.label);
  if ((flags & kNotify) != 0) to = WriteString(to, *claim.notify_channel);
  if ((flags & kMlock) != 0) to = WriteKeys(to, claim.mlock_keys);
  return to;
}

void ReadKeys(ByteReader& bytes, std::vector<std::string_view>& keys) {
  const std::uint64_t count = bytes.Varint();
  // Each key takes at least two bytes, so a damaged count does not reserve much memory.
  if (count == 0 || count > bytes.rest_bytes()) return bytes.Fail();
  for (std::uint64_t i = 0; i < count && bytes.ok(); ++i) {
    keys.push_back(bytes.String());
    if (keys.back().empty()) bytes.Fail();
  }
}

// A number that is stored only if it differs from `absent`: the flag says whether it is there. A
// stored number equal to `absent` is invalid.
std::uint64_t OtherThan(std::uint64_t absent, ByteReader& bytes) {
  const std::uint64_t number = bytes.Varint();
  if (number == absent) bytes.Fail();
  return number;
}

std::uint64_t ReadClaim(ByteReader& bytes, std::uint64_t known_flags, ClaimRow& claim,
                        std::optional<std::uint64_t>& remaining_ms) {
  claim = {};
  const std::uint64_t flags = bytes.Varint();
  if ((flags & ~known_flags) != 0) bytes.Fail();
  claim.is_shared = (flags & kShared) != 0;
  claim.is_redis_way = (flags & kRedisWay) != 0;
  claim.is_limit_given = (flags & kLimitGiven) != 0;
  claim.owner = bytes.String();
  if (claim.owner.empty()) bytes.Fail();
  if ((flags & kLimit) != 0) claim.limit = OtherThan(1, bytes);
  if ((flags & kLease) != 0) claim.lease_ms = bytes.Varint();
  if ((flags & kRemaining) != 0) remaining_ms = bytes.Varint();
  if ((flags & kSession) != 0) claim.session_grace_ms = bytes.Varint();
  if ((flags & kMinHold) != 0) claim.min_hold_ms = OtherThan(0, bytes);
  if ((flags & kMeta) != 0) claim.meta = bytes.String();
  if ((flags & kLabel) != 0) claim.label = bytes.String();
  if ((flags & kNotify) != 0) claim.notify_channel = bytes.String();
  if ((flags & kMlock) != 0) ReadKeys(bytes, claim.mlock_keys);
  return flags;
}

std::size_t BytesMax(const HoldId& id) { return 1 + 3 * kVarintBytesMax + id.key.size(); }

char* WriteLimitId(char* to, const LimitId& id) {
  to = WriteVarint(to, 1 + id.pattern.size());
  *to++ = static_cast<char>(id.db);
  return WriteBytes(to, id.pattern);
}

char* WriteHoldId(char* to, const HoldId& id) {
  to = WriteVarint(to, 1 + VarintBytes(id.token) + id.key.size());
  *to++ = static_cast<char>(id.db);
  return WriteBytes(WriteVarint(to, id.token), id.key);
}

// Writes a value with `write`, and its length in front of it. The length gets one byte at first; a
// value of 128 bytes or more is moved to make space for a longer length.
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
         name == static_cast<std::uint8_t>(MetaName::kLastRun);
}

template <typename Row>
bool IsRow(const Change& change) {
  Row row;
  return DecodeRow(change.key, change.value, row);
}

}  // namespace

void PutRow(RecordWriter& record, const HoldRow& row) {
  char* to = record.BeginChange(BytesMax(row.id) + BytesMax(row.claim));
  to = WriteHoldId(WriteKind(to, RowKind::kHold), row.id);
  const std::uint64_t flags = FlagsOf(row.claim) | Flag(row.remaining_ms.has_value(), kRemaining);
  record.EndChange(WriteValue(
      to, [&](char* value) { return WriteClaim(value, flags, row.claim, row.remaining_ms); }));
}

void PutRow(RecordWriter& record, const PlaceRow& row) {
  char* to = record.BeginChange(BytesMax(row.claim) + row.key.size() + 6 * kVarintBytesMax);
  to = WriteVarint(WriteKind(to, RowKind::kPlace), VarintBytes(row.arrival));
  to = WriteVarint(to, row.arrival);
  const std::uint64_t flags =
      FlagsOf(row.claim) | Flag(row.keep_ms != 0, kKeep) | Flag(row.wait_ms.has_value(), kWait);
  record.EndChange(WriteValue(to, [&](char* value) {
    *value++ = static_cast<char>(row.db);
    value = WriteClaim(WriteString(value, row.key), flags, row.claim, std::nullopt);
    if ((flags & kKeep) != 0) value = WriteVarint(value, row.keep_ms);
    if ((flags & kWait) != 0) value = WriteVarint(value, *row.wait_ms);
    return value;
  }));
}

void PutRow(RecordWriter& record, const CooldownRow& row) {
  char* to = record.BeginChange(BytesMax(row.id) + 6 * kVarintBytesMax);
  to = WriteHoldId(WriteKind(to, RowKind::kCooldown), row.id);
  const std::uint64_t flags = Flag(row.is_shared, kCooldownShared) |
                              Flag(row.remaining_ms.has_value(), kCooldownRemaining) |
                              Flag(row.is_limit_given, kCooldownLimitGiven);
  record.EndChange(WriteValue(to, [&](char* value) {
    value = WriteVarint(WriteVarint(value, flags), row.limit);
    value = WriteVarint(value, row.length_ms);
    return row.remaining_ms ? WriteVarint(value, *row.remaining_ms) : value;
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

void DeleteHold(RecordWriter& record, const HoldId& id) {
  char* to = record.BeginChange(BytesMax(id));
  record.EndChange(WriteHoldId(WriteKind(to, RowKind::kHold, kDeletionBit), id));
}

void DeletePlace(RecordWriter& record, std::uint64_t arrival) {
  char* to = record.BeginChange(1 + 2 * kVarintBytesMax);
  to = WriteVarint(WriteKind(to, RowKind::kPlace, kDeletionBit), VarintBytes(arrival));
  record.EndChange(WriteVarint(to, arrival));
}

void DeleteCooldown(RecordWriter& record, const HoldId& id) {
  char* to = record.BeginChange(BytesMax(id));
  record.EndChange(WriteHoldId(WriteKind(to, RowKind::kCooldown, kDeletionBit), id));
}

void DeleteLimit(RecordWriter& record, const LimitId& id) {
  char* to = record.BeginChange(id.pattern.size() + 2 * kVarintBytesMax);
  record.EndChange(WriteLimitId(WriteKind(to, RowKind::kLimit, kDeletionBit), id));
}

bool DecodeHoldId(std::string_view key, HoldId& id) {
  ByteReader bytes(key);
  id.db = bytes.Fixed<std::uint8_t>();
  id.token = bytes.Varint();
  id.key = bytes.Bytes(bytes.rest_bytes());
  return bytes.ok() && !id.key.empty() && id.token <= kStoredTokenMax;
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

bool DecodeRow(std::string_view key, std::string_view value, HoldRow& row) {
  ByteReader bytes(value);
  row.remaining_ms.reset();
  ReadClaim(bytes, kHoldFlags, row.claim, row.remaining_ms);
  return DecodeHoldId(key, row.id) && bytes.AtEnd();
}

bool DecodeRow(std::string_view key, std::string_view value, PlaceRow& row) {
  ByteReader bytes(value);
  row.db = bytes.Fixed<std::uint8_t>();
  row.key = bytes.String();
  std::optional<std::uint64_t> no_remaining_ms;
  const std::uint64_t flags = ReadClaim(bytes, kPlaceFlags, row.claim, no_remaining_ms);
  row.keep_ms = (flags & kKeep) != 0 ? OtherThan(0, bytes) : 0;
  row.wait_ms.reset();
  if ((flags & kWait) != 0) row.wait_ms = bytes.Varint();
  return DecodeArrival(key, row.arrival) && bytes.AtEnd() && !row.key.empty();
}

bool DecodeRow(std::string_view key, std::string_view value, CooldownRow& row) {
  ByteReader bytes(value);
  const std::uint64_t flags = bytes.Varint();
  row.is_shared = (flags & kCooldownShared) != 0;
  row.is_limit_given = (flags & kCooldownLimitGiven) != 0;
  row.limit = bytes.Varint();
  row.length_ms = bytes.Varint();
  row.remaining_ms.reset();
  if ((flags & kCooldownRemaining) != 0) row.remaining_ms = bytes.Varint();
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
  HoldId id;
  LimitId limit;
  std::uint64_t arrival = 0;
  switch (change.kind) {
    case RowKind::kHold:
      return change.is_deletion ? DecodeHoldId(change.key, id) : IsRow<HoldRow>(change);
    case RowKind::kPlace:
      return change.is_deletion ? DecodeArrival(change.key, arrival) : IsRow<PlaceRow>(change);
    case RowKind::kCooldown:
      return change.is_deletion ? DecodeHoldId(change.key, id) : IsRow<CooldownRow>(change);
    case RowKind::kLimit:
      return change.is_deletion ? DecodeLimitId(change.key, limit) : IsRow<LimitRow>(change);
    case RowKind::kMeta:
      return !change.is_deletion && IsRow<MetaRow>(change);
  }
  return false;
}

}  // namespace fairlock::storage
