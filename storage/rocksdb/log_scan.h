// Reads RocksDB's log files before RocksDB does, to tell a torn tail from damage.
//
// RocksDB takes some damage near the end of a log for a write that was cut off, and drops what
// stands there without a word. A write that was cut off ends where the file ends: whatever is
// whole behind the place where reading would stop, or would be whole with another length, was
// written and is damaged now.
//
// In a log that is prepared a lost machine may leave any parts of the last write, between zeros.
// Behind it nothing was begun: where a record begins behind the first that is not whole, that one
// was written and is damaged now. RocksDB does not get to see such a tail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/rocksdb/prepared_log.h"
#include "storage/status.h"

namespace fairlock::storage {

struct LogScan {
  enum class Verdict : std::uint8_t { kWhole, kTorn, kDamaged };

  Verdict verdict = Verdict::kWhole;
  std::size_t end = 0;    // where reading stops
  std::string what = {};  // of damage
};

// The content of a file in the form of RocksDB's logs: a write-ahead log, or a manifest.
LogScan ScanLog(std::string_view content);

// Scans all write-ahead logs and the manifest in force of the database in a folder. The status
// names file and place of the first damage. The sizes are of those logs that are longer than what
// is to be read of them.
Result<LogSizes> CheckLogs(const std::string& database_path);

}  // namespace fairlock::storage
