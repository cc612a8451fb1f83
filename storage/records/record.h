// The form of everything that is stored: a record of changes to rows, sealed by a checksum.
//
// docs/STORAGE_FORMAT.md describes it byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "storage/byte_buffer.h"
#include "storage/status.h"

namespace fairlock::storage {

inline constexpr std::uint8_t kFormatVersion = 1;
inline constexpr std::size_t kRecordHeaderBytes = 16;
inline constexpr std::size_t kRecordSealBytes = 8;

enum class RecordKind : std::uint8_t {
  kBatch = 'b',    // the changes of one turn; its number is its place among all batches
  kSlice = 's',    // a part of a snapshot; its number is its place among the slices
  kHeading = 'h',  // what a whole snapshot consists of; its number is the generation
};

// What a row is about. A row is a key and a value, both opaque here; row_coding.h knows more.
enum class RowKind : std::uint8_t {
  kHold = 1,
  kPlace = 2,
  kCooling = 3,
  kLimit = 4,
  kMeta = 5,
};

// Added to a kind: the row is deleted.
inline constexpr std::uint8_t kDeletionBit = 0x80;

inline constexpr std::size_t kRowBytesMax = std::size_t{1} << 20;  // of a key or a value

// One change: the row has this value from now on, or is gone. Views are into the record.
struct Change {
  RowKind kind = RowKind::kHold;
  bool is_deletion = false;
  std::string_view key;
  std::string_view value;
};

// Collects changes and seals them as one record. The bytes stay where they are until Clear.
class RecordWriter {
 public:
  RecordWriter() { Clear(); }

  void Clear();
  std::uint32_t changes() const { return changes_; }
  bool empty() const { return changes_ == 0; }
  std::size_t size() const { return bytes_.size(); }

  void Put(RowKind kind, std::string_view key, std::string_view value);
  void Delete(RowKind kind, std::string_view key);

  // For encoders that write a change themselves: room for `bytes_max` bytes behind what is there.
  // Between Begin and End nothing else may be called.
  char* BeginChange(std::size_t bytes_max) { return bytes_.Reserve(bytes_max); }
  void EndChange(const char* end) {
    bytes_.SetEnd(end);
    ++changes_;
  }

  // For the fixed content of a heading.
  void AppendRaw(std::string_view bytes);

  // Writes header and checksum; the checksum covers all bytes before it and `previous`, the
  // checksum of the record before. Nothing may be added until Clear.
  std::string_view Seal(RecordKind kind, std::uint64_t number, std::uint64_t previous);
  std::uint64_t checksum() const { return checksum_; }  // of the last Seal

 private:
  ByteBuffer bytes_;
  std::uint32_t changes_ = 0;
  std::uint64_t checksum_ = 0;
};

// Reads a record that may be damaged. `bytes` must outlive the reader.
class RecordReader {
 public:
  // Checks everything but the single changes: version, kind, number, checksum.
  static Result<RecordReader> Open(std::string_view bytes, RecordKind kind, std::uint64_t number,
                                   std::uint64_t previous);

  std::uint64_t checksum() const { return checksum_; }
  std::uint32_t changes() const { return changes_; }
  std::string_view content() const { return content_; }

  // The next change; false at the end and at the first mistake, which status() then tells.
  bool Next(Change& change);
  const Status& status() const { return status_; }

 private:
  RecordReader() = default;
  bool Damage(std::string_view what);

  std::string name_;
  std::string_view content_;
  std::string_view rest_;
  std::uint32_t changes_ = 0;
  std::uint32_t read_ = 0;
  std::uint64_t checksum_ = 0;
  Status status_;
};

// "batch 17", "slice 3", "snapshot 2": how messages name a record.
std::string RecordName(RecordKind kind, std::uint64_t number);

// Where the chain of a snapshot's slices, or of the first batch of a new log, begins.
std::uint64_t ChainStart(std::string_view log_id, std::uint64_t generation);

}  // namespace fairlock::storage
