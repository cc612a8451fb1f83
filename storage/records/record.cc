#include "storage/records/record.h"

#include <xxhash.h>

#include <cassert>

#include "storage/byte_coding.h"

namespace fairlock::storage {
namespace {

std::uint64_t Checksum(std::string_view bytes, std::uint64_t previous) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), previous);
}

bool IsRowKind(std::uint8_t byte) {
  return byte >= static_cast<std::uint8_t>(RowKind::kHold) &&
         byte <= static_cast<std::uint8_t>(RowKind::kElement);
}

}  // namespace

void RecordWriter::Clear() {
  bytes_.Clear();
  bytes_.SetEnd(bytes_.Reserve(kRecordHeaderBytes) + kRecordHeaderBytes);
  changes_ = 0;
}

void RecordWriter::Put(RowKind kind, std::string_view key, std::string_view value) {
  assert(key.size() <= kRowBytesMax && value.size() <= kRowBytesMax);
  char* to = BeginChange(1 + key.size() + value.size() + 2 * kVarintBytesMax);
  *to++ = static_cast<char>(kind);
  EndChange(WriteString(WriteString(to, key), value));
}

void RecordWriter::Delete(RowKind kind, std::string_view key) {
  assert(key.size() <= kRowBytesMax);
  char* to = BeginChange(1 + key.size() + kVarintBytesMax);
  *to++ = static_cast<char>(static_cast<std::uint8_t>(kind) | kDeletionBit);
  EndChange(WriteString(to, key));
}

void RecordWriter::AppendRaw(std::string_view bytes) {
  bytes_.SetEnd(WriteBytes(bytes_.Reserve(bytes.size()), bytes));
}

std::string_view RecordWriter::Seal(RecordKind kind, std::uint64_t number, std::uint64_t previous) {
  char* seal = bytes_.Reserve(kRecordSealBytes);
  char* to = bytes_.data();
  *to++ = static_cast<char>(kFormatVersion);
  *to++ = static_cast<char>(kind);
  to = WriteFixed(to, std::uint16_t{0});
  to = WriteFixed(to, changes_);
  WriteFixed(to, number);
  checksum_ = Checksum(bytes_.view(), previous);
  bytes_.SetEnd(WriteFixed(seal, checksum_));
  return bytes_.view();
}

namespace {

Status Truncated(const std::string& name, std::string_view bytes) {
  return Damaged(name + " is truncated to " + std::to_string(bytes.size()) + " bytes");
}

}  // namespace

Result<RecordReader> RecordReader::Open(std::string_view bytes, RecordKind kind,
                                        std::uint64_t number, std::uint64_t previous) {
  const std::string name = RecordName(kind, number);
  if (bytes.size() < kRecordHeaderBytes + kRecordSealBytes) return Truncated(name, bytes);
  const std::string_view sealed = bytes.substr(0, bytes.size() - kRecordSealBytes);
  const std::uint64_t checksum = Checksum(sealed, previous);
  if (ReadFixed<std::uint64_t>(bytes.data() + sealed.size()) != checksum) {
    return Damaged(name + " does not match its checksum, or does not follow the one before");
  }
  auto reader = OpenUnchained(bytes, kind, number);
  if (reader.ok()) reader->checksum_ = checksum;
  return reader;
}

Result<RecordReader> RecordReader::OpenUnchained(std::string_view bytes, RecordKind kind,
                                                 std::uint64_t number) {
  RecordReader reader;
  reader.name_ = RecordName(kind, number);
  if (bytes.size() < kRecordHeaderBytes + kRecordSealBytes) return Truncated(reader.name_, bytes);
  const std::string_view sealed = bytes.substr(0, bytes.size() - kRecordSealBytes);
  const auto version = static_cast<std::uint8_t>(bytes[0]);
  if (version != kFormatVersion) {
    return Newer(reader.name_ + " has format version " + std::to_string(version) +
                 ", and this program reads only version " + std::to_string(kFormatVersion));
  }
  ByteReader header(sealed.substr(1));
  const bool is_kind = header.Fixed<std::uint8_t>() == static_cast<std::uint8_t>(kind);
  const bool is_zero = header.Fixed<std::uint16_t>() == 0;
  reader.changes_ = header.Fixed<std::uint32_t>();
  if (!is_kind || !is_zero || header.Fixed<std::uint64_t>() != number) {
    return Damaged(reader.name_ + " has the header of another record");
  }
  reader.content_ = reader.rest_ = sealed.substr(kRecordHeaderBytes);
  return reader;
}

std::string RecordReader::NameOfChange(std::uint32_t number) const {
  return name_ + ", change " + std::to_string(number) + " of " + std::to_string(changes_);
}

Status RecordReader::UnknownContent() const {
  return Newer(NameOfChange(read_) + " has content that this program does not know");
}

bool RecordReader::EndWith(Status status) {
  status_ = std::move(status);
  rest_ = {};
  return false;
}

bool RecordReader::Damage(std::string_view what) {
  return EndWith(Damaged(NameOfChange(read_ + 1) + ": " + std::string(what)));
}

bool RecordReader::Next(Change& change) {
  if (!status_.ok()) return false;
  if (read_ == changes_)
    return rest_.empty() ? false : Damage("there are bytes after the last change");
  ByteReader bytes(rest_);
  const auto first = bytes.Fixed<std::uint8_t>();
  const auto kind = static_cast<std::uint8_t>(first & ~kDeletionBit);
  if (!bytes.ok()) return Damage("is missing");
  if (!IsRowKind(kind)) {
    return EndWith(
        Newer(NameOfChange(read_ + 1) + " is an unknown kind of row, " + std::to_string(kind)));
  }
  change.kind = static_cast<RowKind>(kind);
  change.is_deletion = (first & kDeletionBit) != 0;
  change.key = bytes.String();
  change.value = change.is_deletion ? std::string_view() : bytes.String();
  if (!bytes.ok()) return Damage("is truncated");
  if (change.key.size() > kRowBytesMax || change.value.size() > kRowBytesMax) {
    return Damage("is longer than the limit of " + std::to_string(kRowBytesMax) + " bytes");
  }
  rest_ = rest_.substr(rest_.size() - bytes.rest_bytes());
  ++read_;
  return true;
}

std::string RecordName(RecordKind kind, std::uint64_t number) {
  switch (kind) {
    case RecordKind::kBatch:
      return "batch " + std::to_string(number);
    case RecordKind::kSlice:
      return "slice " + std::to_string(number);
    case RecordKind::kHeading:
      return "snapshot " + std::to_string(number);
  }
  return "record " + std::to_string(number);
}

std::uint64_t ChainStart(std::string_view log_id, std::uint64_t generation) {
  return Checksum(log_id, generation);
}

}  // namespace fairlock::storage
