// The encoding of small values.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "storage/byte_coding.h"
#include "storage/records/rows.h"

namespace fairlock::storage {

namespace {

constexpr std::uint64_t kValueTtl = 1;
constexpr std::uint64_t kValueRemaining = 2;

// An upper bound on the encoded size of the value without its key.
std::size_t BytesMax(const rows::Value& row) {
  std::size_t bytes = 4 * kVarintBytesMax + row.scores.size() * sizeof(double);
  for (const std::string_view part : row.parts) bytes += part.size() + kVarintBytesMax;
  return bytes;
}

char* WriteValueId(char* to, const rows::ValueId& id) {
  to = WriteVarint(to, 1 + id.key.size());
  *to++ = static_cast<char>(id.db);
  return WriteBytes(to, id.key);
}

std::size_t ValueBytes(const rows::Value& row, std::uint64_t flags) {
  std::size_t bytes = 2 + row.scores.size() * sizeof(double);
  if ((flags & kValueTtl) != 0) bytes += VarintBytes(static_cast<std::uint64_t>(row.ttl_ms));
  if ((flags & kValueRemaining) != 0) {
    bytes += VarintBytes(static_cast<std::uint64_t>(*row.remaining_ms));
  }
  for (const std::string_view part : row.parts) bytes += VarintBytes(part.size()) + part.size();
  return bytes;
}

rows::DurationMs ReadDuration(ByteReader& bytes) {
  const std::uint64_t duration_ms = bytes.Varint();
  constexpr auto kMax = std::numeric_limits<rows::DurationMs>::max();
  if (duration_ms > static_cast<std::uint64_t>(kMax)) bytes.Fail();
  return static_cast<rows::DurationMs>(duration_ms);
}

// PutRow writes no other scores, so that a row has exactly one encoding.
bool IsScore(double score) { return !std::isnan(score) && !(score == 0 && std::signbit(score)); }

void ReadParts(ByteReader& bytes, rows::Value& row) {
  while (bytes.ok() && !bytes.AtEnd()) {
    if (row.type == rows::ValueType::kSortedSet) {
      row.scores.push_back(std::bit_cast<double>(bytes.Fixed<std::uint64_t>()));
      if (!IsScore(row.scores.back())) bytes.Fail();
    }
    row.parts.push_back(bytes.String());
  }
}

}  // namespace

void PutRow(RecordWriter& record, const rows::Value& row) {
  const std::uint64_t flags =
      (row.ttl_ms > 0 ? kValueTtl : 0) | (row.remaining_ms ? kValueRemaining : 0);
  char* to = record.BeginChange(2 + row.id.key.size() + 2 * kVarintBytesMax + BytesMax(row));
  *to++ = static_cast<char>(RowKind::kValue);
  to = WriteVarint(WriteValueId(to, row.id), ValueBytes(row, flags));
  to = WriteVarint(WriteVarint(to, static_cast<std::uint64_t>(row.type)), flags);
  if ((flags & kValueTtl) != 0) to = WriteVarint(to, static_cast<std::uint64_t>(row.ttl_ms));
  if ((flags & kValueRemaining) != 0) {
    to = WriteVarint(to, static_cast<std::uint64_t>(*row.remaining_ms));
  }
  for (std::size_t i = 0; i < row.parts.size(); ++i) {
    if (i < row.scores.size()) to = WriteFixed(to, std::bit_cast<std::uint64_t>(row.scores[i]));
    to = WriteString(to, row.parts[i]);
  }
  record.EndChange(to);
}

void DeleteValue(RecordWriter& record, const rows::ValueId& id) {
  char* to = record.BeginChange(id.key.size() + 2 + kVarintBytesMax);
  *to++ = static_cast<char>(static_cast<std::uint8_t>(RowKind::kValue) | kDeletionBit);
  record.EndChange(WriteValueId(to, id));
}

bool DecodeValueId(std::string_view key, rows::ValueId& id) {
  ByteReader bytes(key);
  id.db = bytes.Fixed<std::uint8_t>();
  id.key = bytes.Bytes(bytes.rest_bytes());
  return bytes.ok();
}

bool DecodeRow(std::string_view key, std::string_view value, rows::Value& row) {
  row = {};
  ByteReader bytes(value);
  const std::uint64_t type = bytes.Varint();
  if (type < static_cast<std::uint64_t>(rows::ValueType::kHash) ||
      type > static_cast<std::uint64_t>(rows::ValueType::kSet)) {
    return false;
  }
  row.type = static_cast<rows::ValueType>(type);
  const std::uint64_t flags = bytes.Varint();
  if ((flags & ~(kValueTtl | kValueRemaining)) != 0 || flags == kValueRemaining) return false;
  if ((flags & kValueTtl) != 0) {
    row.ttl_ms = ReadDuration(bytes);
    if (row.ttl_ms == 0) return false;
  }
  if ((flags & kValueRemaining) != 0) row.remaining_ms = ReadDuration(bytes);
  ReadParts(bytes, row);
  const bool is_whole = row.type != rows::ValueType::kHash || row.parts.size() % 2 == 0;
  return DecodeValueId(key, row.id) && bytes.AtEnd() && is_whole && !row.parts.empty();
}

}  // namespace fairlock::storage
