// Reads RocksDB's log files before RocksDB does, to tell a torn tail from damage.
//
// RocksDB takes some damage near the end of a log for a write that was cut off, and drops what
// stands there without a word. A write that was cut off ends where the file ends: whatever is
// whole behind the place where reading would stop, or would be whole with another length, was
// written and is damaged now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
// names file and place of the first damage.
Status CheckLogs(const std::string& database_path);

}  // namespace fairlock::storage
