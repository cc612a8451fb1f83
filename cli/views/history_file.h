// Reads the files that a server's `history_file` names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "protocol/reply.h"

namespace fairlock::cli {

struct HistoryFilter {
  int database = 0;
  std::string key = "*";
  bool is_glob = true;
  std::optional<std::string> owner = {};
  std::vector<std::string> events = {};  // their names; empty: all
  std::int64_t since = 0;                // Unix milliseconds; both ends are included
  std::int64_t until = INT64_MAX;
};

// Whether the event, a map as in HISTORY, passes.
bool Passes(const HistoryFilter& filter, const protocol::Reply& event);

// Reads PATH.N, ..., PATH.1 and PATH, as far as they exist. Returns the newest `count` events that
// pass, as maps of the fields in their lines, newest first. Leaves out lines that are not events of
// locks. Uses memory for `count` events; the time grows with the files.
Result<std::vector<protocol::Reply>> ReadHistoryFiles(const std::string& path,
                                                      const HistoryFilter& filter,
                                                      std::int64_t count);

}  // namespace fairlock::cli
