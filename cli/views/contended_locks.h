// Finds the most contended locks of a server, or of all partitions of a fleet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/fleet_leaders.h"
#include "cli/output/screen.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

enum class Contention : std::uint8_t { kWaiters, kLongestWait, kOldestHold };

struct ContentionQuery {
  std::string glob = "*";
  std::optional<int> database = {};  // none: all databases
  Contention by = Contention::kWaiters;
  std::size_t count = 0;
  // Pages of each partition, of 1000 locks each; bounds how long a scan takes.
  int pages_max = 1;
  // Pages to scan for held locks without waiters, if rows remain; 0: does not look for any.
  int uncontended_pages_max = 0;
};

struct Contended {
  std::vector<LockRow> rows;  // the most contended first, then locks without waiters
  bool is_whole = true;       // the scan covered all locks
  // Of all locks that were scanned:
  std::optional<LockRow> longest = {};  // the one that has been waited for longest
  std::size_t longest_partition = 0;
  std::int64_t long_waits = 0;  // how many have been waited for longer than kLongWaitMs
};

inline constexpr DurationMs kLongWaitMs = 60'000;

Result<Contended> FindContended(FleetLeaders& leaders, const ContentionQuery& query);

// Formats the locks as a table; `title` heads the first column.
std::string ContendedText(const Contended& contended, const std::string& title,
                          const Screen& screen);

}  // namespace fairlock::cli
