#include "storage/records/snapshot_heading.h"

#include <algorithm>

#include "storage/byte_coding.h"

namespace fairlock::storage {

SnapshotHeading HeadingOfNewLog(const LogId& log_id) {
  return {.log_id = log_id,
          .last_slice_checksum = ChainStart(View(log_id), 0),
          .checksum_before = ChainStart(View(log_id), 0)};
}

std::string_view EncodeHeading(const SnapshotHeading& heading, RecordWriter& writer) {
  char bytes[sizeof(LogId) + 4 * sizeof(std::uint64_t)];
  char* to = WriteBytes(bytes, View(heading.log_id));
  to = WriteFixed(to, heading.slices);
  to = WriteFixed(to, heading.last_slice_checksum);
  to = WriteFixed(to, heading.first_batch);
  to = WriteFixed(to, heading.checksum_before);
  writer.Clear();
  writer.AppendRaw({bytes, static_cast<std::size_t>(to - bytes)});
  return writer.Seal(RecordKind::kHeading, heading.generation, 0);
}

Result<SnapshotHeading> DecodeHeading(std::string_view bytes, std::uint64_t generation) {
  auto record = RecordReader::Open(bytes, RecordKind::kHeading, generation, 0);
  if (!record.ok()) return record.status();
  ByteReader content(record->content());
  SnapshotHeading heading{.generation = generation};
  std::ranges::copy(content.Bytes(sizeof(LogId)), heading.log_id.begin());
  heading.slices = content.Fixed<std::uint64_t>();
  heading.last_slice_checksum = content.Fixed<std::uint64_t>();
  heading.first_batch = content.Fixed<std::uint64_t>();
  heading.checksum_before = content.Fixed<std::uint64_t>();
  if (!content.AtEnd() || record->changes() != 0) {
    return Newer(RecordName(RecordKind::kHeading, generation) +
                 " has content that this program does not know");
  }
  return heading;
}

}  // namespace fairlock::storage
