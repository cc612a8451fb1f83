// Scans the locks of the server, or of all partitions of a fleet, page by page.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/connection/fleet_leaders.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

struct LockFilter {
  std::string glob = "*";
  std::optional<int> database = {};  // none: all databases
  std::optional<DurationMs> waiting_ms_min = {};
  std::optional<DurationMs> held_ms_min = {};
  std::optional<std::string> owner = {};  // an owner that holds or waits
  int pages_max = 0;                      // of each partition; 0: no limit
};

// Keeps one page in memory at a time. Returns every lock that exists throughout the scan. A lock
// that appears or disappears during the scan may be returned or not, and a lock may be returned
// twice. Scans one leader after the other, without those that have failed before. A leader that
// fails during the scan is remembered in `leaders`.
class LockWalk {
 public:
  // `leaders` must outlive this object.
  LockWalk(FleetLeaders& leaders, LockFilter filter)
      : leaders_(leaders), filter_(std::move(filter)) {
    TurnToNext();
  }

  bool is_over() const { return next_ == leaders_.size(); }

  // Whether no page was left out because of pages_max.
  bool is_whole() const { return is_whole_; }

  // Returns the locks of the next page that pass the filter; may be empty even if more pages
  // follow. Fails if no leader is left.
  Result<std::vector<LockRow>> NextPage();

  // The partition of the page that was returned last.
  std::size_t partition() const { return partition_; }

 private:
  Result<std::vector<LockRow>> FetchPage(Client& client);
  bool Passes(const LockRow& row) const;
  // Leaves the partition if its scan is over or its leader has failed.
  void TurnToNext();

  FleetLeaders& leaders_;
  LockFilter filter_;
  std::size_t partition_ = 0;
  std::size_t next_ = 0;  // the partition of the next page
  std::string cursor_ = "0";
  int pages_ = 0;            // of the partition, so far
  bool is_scanned_ = false;  // the next page would begin the scan of the partition again
  bool is_whole_ = true;
};

boost::json::object ObjectOf(const LockRow& row);

}  // namespace fairlock::cli
