// What says of which records the state consists: one heading is valid at any time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "storage/records/record.h"

namespace fairlock::storage {

// Names one log for ever: 16 bytes drawn when it was made.
using LogId = std::array<char, 16>;

inline std::string_view View(const LogId& id) { return {id.data(), id.size()}; }

// The state is the slices 0 to slices - 1 of `generation`, then every batch from `first_batch` on.
// A new log has generation 0, which has no slices.
struct SnapshotHeading {
  LogId log_id{};
  std::uint64_t generation = 0;
  std::uint64_t slices = 0;
  std::uint64_t last_slice_checksum = 0;  // ChainStart(log_id, generation) if there are none
  std::uint64_t first_batch = 1;
  std::uint64_t checksum_before = 0;  // of the batch before the first one

  friend bool operator==(const SnapshotHeading&, const SnapshotHeading&) = default;
};

SnapshotHeading HeadingOfNewLog(const LogId& log_id);

// Sealed into `writer`, whose content is replaced; the view is the writer's.
std::string_view EncodeHeading(const SnapshotHeading& heading, RecordWriter& writer);
Result<SnapshotHeading> DecodeHeading(std::string_view bytes, std::uint64_t generation);

}  // namespace fairlock::storage
