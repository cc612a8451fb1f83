// The format of all stored data: records of changes to rows, each sealed by a checksum.
//
// docs/STORAGE_FORMAT.md describes it byte by byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "storage/status.h"

namespace fairlock::storage {

// A growable byte buffer whose memory is reused.
//
// Grows by doubling and never shrinks, so a reused buffer does not allocate.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept { *this = std::move(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  char* data() { return bytes_.get(); }
  std::string_view view() const { return {bytes_.get(), size_}; }

  void Clear() { size_ = 0; }

  // Returns where the next `count` bytes may be written; valid until the next call. The caller then
  // reports the end of what it wrote with SetEnd.
  char* Reserve(std::size_t count) {
    if (capacity_ - size_ < count) Grow(size_ + count);
    return bytes_.get() + size_;
  }
  void SetEnd(const char* end) { size_ = static_cast<std::size_t>(end - bytes_.get()); }

 private:
  void Grow(std::size_t needed) {
    const std::size_t capacity = std::max<std::size_t>({needed, capacity_ * 2, 256});
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

inline constexpr std::uint8_t kFormatVersion = 1;
inline constexpr std::size_t kRecordHeaderBytes = 16;
inline constexpr std::size_t kRecordSealBytes = 8;

enum class RecordKind : std::uint8_t {
  kBatch = 'b',    // the changes of one turn; numbered in the order of all batches
  kSlice = 's',    // a part of a snapshot; numbered in the order of its slices
  kHeading = 'h',  // defines the records that a snapshot consists of; its number is the generation
};

// The type of a row. A row is a key and a value, both opaque here; rows.h defines them.
enum class RowKind : std::uint8_t {
  kHold = 1,
  kPlace = 2,
  kCooldown = 3,
  kLimit = 4,
  kMeta = 5,
  kValue = 6,
  kElement = 7,  // of a large value
};

// Added to a kind to mark the row as deleted.
inline constexpr std::uint8_t kDeletionBit = 0x80;

// The size limit for a key, and for a value.
inline constexpr std::size_t kRowBytesMax = std::size_t{1} << 20;

// One change: the row gets this value, or is deleted. The views point into the record.
struct Change {
  RowKind kind = RowKind::kHold;
  bool is_deletion = false;
  std::string_view key;
  std::string_view value;
};

// Collects changes and seals them as one record. The bytes stay at the same address until Clear.
class RecordWriter {
 public:
  RecordWriter() { Clear(); }

  void Clear();
  std::uint32_t changes() const { return changes_; }
  bool empty() const { return changes_ == 0; }
  std::size_t size() const { return bytes_.size(); }

  void Put(RowKind kind, std::string_view key, std::string_view value);
  void Delete(RowKind kind, std::string_view key);

  // For encoders that write a change themselves: returns space for `bytes_max` bytes after the
  // current content. No other function may be called between BeginChange and EndChange.
  char* BeginChange(std::size_t bytes_max) { return bytes_.Reserve(bytes_max); }
  void EndChange(const char* end) {
    bytes_.SetEnd(end);
    ++changes_;
  }

  // Appends bytes as they are. Used for the fixed content of a heading.
  void AppendRaw(std::string_view bytes);

  // Writes the header and the checksum, which covers all bytes before it and `previous`, the
  // checksum of the previous record. Nothing may be added until Clear.
  std::string_view Seal(RecordKind kind, std::uint64_t number, std::uint64_t previous);
  std::uint64_t checksum() const { return checksum_; }  // set by the last Seal

 private:
  ByteBuffer bytes_;
  std::uint32_t changes_ = 0;
  std::uint64_t checksum_ = 0;
};

// Reads a record that may be damaged. `bytes` must outlive the reader.
class RecordReader {
 public:
  // Checks everything except the individual changes: version, kind, number, checksum.
  static Result<RecordReader> Open(std::string_view bytes, RecordKind kind, std::uint64_t number,
                                   std::uint64_t previous);

  // The same without the checksum, which depends on the record before. Only for a record whose
  // bytes were checked in another way, and to learn what it says: nothing may rely on it.
  static Result<RecordReader> OpenUnchained(std::string_view bytes, RecordKind kind,
                                            std::uint64_t number);

  std::uint64_t checksum() const { return checksum_; }
  std::uint32_t changes() const { return changes_; }
  std::string_view content() const { return content_; }

  // Reads the next change. Returns false at the end and at the first error, which status() reports.
  bool Next(Change& change);
  const Status& status() const { return status_; }
  // The error of a change, the last one that Next() read, that is no row of this version. The
  // checksum is right, so a newer version wrote it.
  Status UnknownContent() const;

 private:
  RecordReader() = default;
  std::string NameOfChange(std::uint32_t number) const;
  bool EndWith(Status status);
  bool Damage(std::string_view what);

  std::string name_;
  std::string_view content_;
  std::string_view rest_;
  std::uint32_t changes_ = 0;
  std::uint32_t read_ = 0;
  std::uint64_t checksum_ = 0;
  Status status_;
};

// The name of a record in messages, such as "batch 17", "slice 3" or "snapshot 2".
std::string RecordName(RecordKind kind, std::uint64_t number);

// The initial checksum for the chain of a snapshot's slices, or of the batches of a new log.
std::uint64_t ChainStart(std::string_view log_id, std::uint64_t generation);

}  // namespace fairlock::storage
