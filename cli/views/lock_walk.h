// Scans the locks of the server, page by page.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

struct LockFilter {
  std::string glob = "*";
  std::optional<int> database = {};  // none: all databases
  std::optional<DurationMs> waiting_ms_min = {};
  std::optional<DurationMs> held_ms_min = {};
  std::optional<std::string> owner = {};  // an owner that holds or waits
};

// Keeps one page in memory at a time. Returns every lock that exists throughout the scan. A lock
// that appears or disappears during the scan may be returned or not, and a lock may be returned
// twice.
class LockWalk {
 public:
  LockWalk(Client& client, LockFilter filter) : client_(client), filter_(std::move(filter)) {}

  bool is_over() const { return is_over_; }

  // Returns the locks of the next page that pass the filter; may be empty even if more pages
  // follow.
  Result<std::vector<LockRow>> NextPage();

 private:
  bool Passes(const LockRow& row) const;

  Client& client_;
  LockFilter filter_;
  std::string cursor_ = "0";
  bool is_over_ = false;
};

boost::json::object ObjectOf(const LockRow& row);

}  // namespace fairlock::cli
