// Reads a whole data folder and reports damage without changing anything.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/records/record.h"
#include "storage/status.h"

namespace fairlock::storage {

inline constexpr std::size_t kDamagesMax = 1'000;  // limit for the list; all are counted

struct DataReport {
  std::vector<std::string> damages;  // each names a record or file
  std::uint64_t damages_found = 0;
  std::uint64_t generation = 0;  // of the current snapshot
  std::uint64_t slices = 0;
  std::uint64_t first_batch = 0;  // after the snapshot; 0: no batch
  std::uint64_t last_batch = 0;
  std::uint64_t leftovers = 0;          // records that do not belong to the state; harmless
  std::array<std::uint64_t, 6> rows{};  // rows of the state, by RowKind
  std::uint64_t token_ceiling = 0;

  bool is_whole() const { return damages_found == 0; }
  std::uint64_t rows_of(RowKind kind) const { return rows[static_cast<std::size_t>(kind)]; }
};

// A status other than ok means that the folder could not be examined: it is in use, or it is not a
// data folder. Damage is listed in the report; records after a damaged one are still read.
Result<DataReport> CheckData(const std::string& path);

}  // namespace fairlock::storage
