// The heading of a snapshot, which defines the records that make up the state. Only one heading is
// valid at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "storage/records/record.h"

namespace fairlock::storage {

// Identifies a log permanently: 16 random bytes, chosen when the log is created.
using LogId = std::array<char, 16>;

inline std::string_view View(const LogId& id) { return {id.data(), id.size()}; }

// The state consists of slices 0 to slices - 1 of `generation`, followed by every batch from
// `first_batch` on. A new log has generation 0, which has no slices.
struct SnapshotHeading {
  LogId log_id{};
  std::uint64_t generation = 0;
  std::uint64_t slices = 0;
  std::uint64_t last_slice_checksum = 0;  // ChainStart(log_id, generation) if there are no slices
  std::uint64_t first_batch = 1;
  std::uint64_t checksum_before = 0;  // the checksum of the batch before `first_batch`

  friend bool operator==(const SnapshotHeading&, const SnapshotHeading&) = default;
};

SnapshotHeading HeadingOfNewLog(const LogId& log_id);

// Replaces the content of `writer` with the sealed heading; the result points into the writer.
std::string_view EncodeHeading(const SnapshotHeading& heading, RecordWriter& writer);
Result<SnapshotHeading> DecodeHeading(std::string_view bytes, std::uint64_t generation);

}  // namespace fairlock::storage
