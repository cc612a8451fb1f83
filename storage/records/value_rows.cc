// The encoding of values.

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
constexpr std::uint64_t kValueNumber = 4;  // it is large

// An upper bound on the encoded size of the value without its key.
std::size_t BytesMax(const rows::Value& row) {
  std::size_t bytes = 5 * kVarintBytesMax + row.scores.size() * sizeof(double);
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
  if ((flags & kValueNumber) != 0) bytes += VarintBytes(row.number);
  for (const std::string_view part : row.parts) bytes += VarintBytes(part.size()) + part.size();
  return bytes;
}

bool IsValueType(std::uint64_t type) {
  return type >= static_cast<std::uint64_t>(rows::ValueType::kHash) &&
         type <= static_cast<std::uint64_t>(rows::ValueType::kSet);
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
  const std::uint64_t flags = (row.ttl_ms > 0 ? kValueTtl : 0) |
                              (row.remaining_ms ? kValueRemaining : 0) |
                              (row.number > 0 ? kValueNumber : 0);
  char* to = record.BeginChange(2 + row.id.key.size() + 2 * kVarintBytesMax + BytesMax(row));
  *to++ = static_cast<char>(RowKind::kValue);
  to = WriteVarint(WriteValueId(to, row.id), ValueBytes(row, flags));
  to = WriteVarint(WriteVarint(to, static_cast<std::uint64_t>(row.type)), flags);
  if ((flags & kValueTtl) != 0) to = WriteVarint(to, static_cast<std::uint64_t>(row.ttl_ms));
  if ((flags & kValueRemaining) != 0) {
    to = WriteVarint(to, static_cast<std::uint64_t>(*row.remaining_ms));
  }
  if ((flags & kValueNumber) != 0) to = WriteVarint(to, row.number);
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

namespace {

// The number of the value, its type, and the name of the element; in a list, its place.
char* WriteElementId(char* to, const rows::Element& row) {
  const bool is_of_list = row.type == rows::ValueType::kList;
  const std::size_t bytes =
      VarintBytes(row.value_number) + 1 + (is_of_list ? sizeof(std::uint64_t) : row.name.size());
  to = WriteVarint(WriteVarint(to, bytes), row.value_number);
  *to++ = static_cast<char>(row.type);
  return is_of_list ? WriteFixed(to, static_cast<std::uint64_t>(row.place))
                    : WriteBytes(to, row.name);
}

}  // namespace

void PutRow(RecordWriter& record, const rows::Element& row) {
  char* to = record.BeginChange(row.name.size() + row.text.size() + 5 * kVarintBytesMax);
  *to++ = static_cast<char>(RowKind::kElement);
  to = WriteElementId(to, row);
  if (row.type == rows::ValueType::kSortedSet) {
    to = WriteFixed(WriteVarint(to, sizeof(double)), std::bit_cast<std::uint64_t>(row.score));
  } else {
    to = WriteString(to, row.text);
  }
  record.EndChange(to);
}

void DeleteElement(RecordWriter& record, const rows::Element& row) {
  char* to = record.BeginChange(row.name.size() + 4 * kVarintBytesMax);
  *to++ = static_cast<char>(static_cast<std::uint8_t>(RowKind::kElement) | kDeletionBit);
  record.EndChange(WriteElementId(to, row));
}

bool DecodeElementId(std::string_view key, rows::Element& row) {
  row = {};
  ByteReader bytes(key);
  row.value_number = bytes.Varint();
  const auto type = bytes.Fixed<std::uint8_t>();
  if (!IsValueType(type)) return false;
  row.type = static_cast<rows::ValueType>(type);
  if (row.type == rows::ValueType::kList) {
    row.place = static_cast<std::int64_t>(bytes.Fixed<std::uint64_t>());
  } else {
    row.name = bytes.Bytes(bytes.rest_bytes());
  }
  return bytes.AtEnd() && row.value_number > 0;
}

bool DecodeRow(std::string_view key, std::string_view value, rows::Element& row) {
  if (!DecodeElementId(key, row)) return false;
  if (row.type != rows::ValueType::kSortedSet) {
    row.text = value;
    return row.type != rows::ValueType::kSet || value.empty();
  }
  ByteReader bytes(value);
  row.score = std::bit_cast<double>(bytes.Fixed<std::uint64_t>());
  return bytes.AtEnd() && IsScore(row.score);
}

std::uint64_t NumberOfValue(std::string_view value) {
  ByteReader bytes(value);
  bytes.Varint();  // the type
  const std::uint64_t flags = bytes.Varint();
  if ((flags & kValueNumber) == 0) return 0;
  if ((flags & kValueTtl) != 0) bytes.Varint();
  if ((flags & kValueRemaining) != 0) bytes.Varint();
  return bytes.Varint();
}

std::string KeyPrefixOfElements(std::uint64_t value_number) {
  std::string prefix(kVarintBytesMax, '\0');
  prefix.resize(static_cast<std::size_t>(WriteVarint(prefix.data(), value_number) - prefix.data()));
  return prefix;
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
  if (!IsValueType(type)) return false;
  row.type = static_cast<rows::ValueType>(type);
  const std::uint64_t flags = bytes.Varint();
  if ((flags & ~(kValueTtl | kValueRemaining | kValueNumber)) != 0) return false;
  if ((flags & kValueRemaining) != 0 && (flags & kValueTtl) == 0) return false;
  if ((flags & kValueTtl) != 0) {
    row.ttl_ms = ReadDuration(bytes);
    if (row.ttl_ms == 0) return false;
  }
  if ((flags & kValueRemaining) != 0) row.remaining_ms = ReadDuration(bytes);
  if ((flags & kValueNumber) != 0) {
    row.number = bytes.Varint();
    return row.number > 0 && bytes.AtEnd() && DecodeValueId(key, row.id);
  }
  ReadParts(bytes, row);
  const bool is_whole = row.type != rows::ValueType::kHash || row.parts.size() % 2 == 0;
  return DecodeValueId(key, row.id) && bytes.AtEnd() && is_whole && !row.parts.empty();
}

}  // namespace fairlock::storage
