// Reads all of a data folder and says what is damaged, without changing anything.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/records/record.h"
#include "storage/status.h"

namespace fairlock::storage {

inline constexpr std::size_t kDamagesMax = 1'000;  // that are listed; all are counted

struct DataReport {
  std::vector<std::string> damages;  // each names its record or file
  std::uint64_t damages_found = 0;
  std::uint64_t generation = 0;  // of the snapshot in force
  std::uint64_t slices = 0;
  std::uint64_t first_batch = 0;  // since the snapshot; 0: no batch
  std::uint64_t last_batch = 0;
  std::uint64_t leftovers = 0;          // records that are not part of the state; harmless
  std::array<std::uint64_t, 6> rows{};  // that the state consists of, by RowKind
  std::uint64_t token_ceiling = 0;

  bool is_whole() const { return damages_found == 0; }
  std::uint64_t rows_of(RowKind kind) const { return rows[static_cast<std::size_t>(kind)]; }
};

// A status that is not ok means that the folder could not be examined: it is in use, or no data
// folder. Damage is in the report; after a damaged record the ones behind it are still read.
Result<DataReport> CheckData(const std::string& path);

}  // namespace fairlock::storage
