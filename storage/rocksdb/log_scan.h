// Reads RocksDB's log files before RocksDB does, to distinguish a torn tail from damage.
//
// RocksDB treats some damage near the end of a log as an interrupted write, and silently drops the
// data there. But an interrupted write extends to the end of the file. If a valid fragment follows
// the place where reading would stop, or the fragment there would be valid with a different length,
// that fragment was written completely and is now damaged.
//
// In a preallocated log, a machine failure may leave any parts of the last write, with zeros
// between them. No later write was begun, so if a record starts after the first invalid one, the
// invalid one was written completely and is now damaged. A torn tail is hidden from RocksDB.
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
  std::size_t end = 0;    // the offset at which reading stops
  std::string what = {};  // a description of the damage
};

// Scans a file in the format of RocksDB's logs: a write-ahead log or a manifest.
LogScan ScanLog(std::string_view content);

// Scans all write-ahead logs and the current manifest of the database in a folder. The status names
// the file and position of the first damage. The result contains the size to read for each log that
// is longer than its valid content.
Result<LogSizes> CheckLogs(const std::string& database_path);

}  // namespace fairlock::storage
