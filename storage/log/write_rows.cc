#include "storage/log/write_rows.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fairlock::storage {

namespace {

constexpr std::size_t kSliceBytes = std::size_t{256} << 10;
constexpr std::uint64_t kGeneration = 1;

class SliceWriter {
 public:
  SliceWriter(Store& store, const LogId& log_id)
      : store_(store), heading_(HeadingOfNewLog(log_id)) {
    heading_.generation = kGeneration;
    heading_.last_slice_checksum = ChainStart(View(log_id), kGeneration);
  }

  Status Add(const RowTable::Name& name, const std::string& value) {
    slice_.Put(name.first, name.second, value);
    return slice_.size() < kSliceBytes ? Status() : Flush();
  }

  // Makes the snapshot the state of the log.
  Status Finish() {
    Status status = slice_.empty() ? Status() : Flush();
    if (!status.ok()) return status;
    const std::string_view bytes = EncodeHeading(heading_, slice_);
    return store_.Replace({.kind = RecordKind::kHeading,
                           .generation = kGeneration,
                           .number = kGeneration,
                           .bytes = bytes},
                          heading_.first_batch);
  }

 private:
  Status Flush() {
    const StoredRecord record{
        .kind = RecordKind::kSlice,
        .generation = kGeneration,
        .number = heading_.slices,
        .bytes = slice_.Seal(RecordKind::kSlice, heading_.slices, heading_.last_slice_checksum)};
    Status status = store_.Append(std::span(&record, 1), Durability::kMachine);
    heading_.last_slice_checksum = slice_.checksum();
    ++heading_.slices;
    slice_.Clear();
    return status;
  }

  Store& store_;
  SnapshotHeading heading_;
  RecordWriter slice_;
};

}  // namespace

Status WriteRows(Store& store, const LogId& log_id, const RowTable& rows) {
  SliceWriter slices(store, log_id);
  for (const auto& [name, value] : rows.rows()) {
    Status status = slices.Add(name, value);
    if (!status.ok()) return status;
  }
  return slices.Finish();
}

}  // namespace fairlock::storage
