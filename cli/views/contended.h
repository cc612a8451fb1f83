// The locks that are most waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/output/screen.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

enum class Contention : std::uint8_t { kWaiters, kLongestWait, kOldestHold };

struct ContentionQuery {
  std::string glob = "*";
  std::optional<int> database = {};  // none: all
  Contention by = Contention::kWaiters;
  std::size_t count = 0;
  int pages_max = 0;   // of 1000 locks: a look must not take long
  int more_pages = 0;  // of locks for which nobody waits, if there is room left for some
};

struct Contended {
  std::vector<LockRow> rows;  // the worst first; then those for which nobody waits
  bool is_whole = true;       // all locks were looked at
};

Result<Contended> FindContended(Client& client, const ContentionQuery& query);

// A table under this title.
std::string ContendedText(const Contended& contended, const std::string& title,
                          const Screen& screen);

}  // namespace fairlock::cli
