// What an operator asks first: is anything wrong, and who has waited longest?
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/connection/fleet_leaders.h"
#include "cli/views/contended_locks.h"
#include "cli/views/info_report.h"

namespace fairlock::cli {

struct LongestWait {
  std::string key;
  int database = 0;
  std::string owner;  // empty: the waiter has gone since
  DurationMs waited_ms = 0;
  std::int64_t since_unix_ms = 0;
};

struct Verdict {
  std::vector<std::string> concerns;  // one sentence each, safe to print; empty: healthy
  std::optional<LongestWait> longest;
};

// What INFO, and the locks that are waited for, show.
std::vector<std::string> ConcernsOf(const InfoReport& info, const Contended& contended);

// Adds what CLUSTER STATUS shows, if there is a fleet, and looks for the owner that has waited
// longest. `info` combines that of all leaders.
Verdict FindVerdict(FleetLeaders& leaders, const InfoReport& info, const Contended& contended);

// "healthy", or "needs attention: ..." with the concerns, separated by semicolons.
std::string VerdictText(const Verdict& verdict);

// "order:42, database 0: worker-2 for 1m32s, since 2026-11-22 05:46:54", or "nobody waits".
std::string LongestWaitText(const Verdict& verdict, const Screen& screen);

boost::json::object ObjectOf(const Verdict& verdict);

}  // namespace fairlock::cli
