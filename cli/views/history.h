// Reads the history of locks from the server, or from the files that its `history_file` names, and
// formats it; merges the statistics of several partitions.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/connection/fleet_leaders.h"
#include "cli/output/screen.h"
#include "protocol/reply.h"

namespace fairlock::cli {

struct HistoryQuery {
  std::string key;                         // `*`: all keys
  std::optional<std::string> match = {};   // only keys that match this glob; needs `*`
  std::optional<std::string> events = {};  // only these, as in "expired,broken"
  std::optional<std::string> owner = {};
  std::optional<std::string> since = {};  // in the syntax of HISTORY
  std::optional<std::string> until = {};
  std::int64_t before = 0;  // only events older than this event number; 0: all
  bool is_by_time = false;  // ignores `before`; a page ends between two milliseconds
  std::int64_t count = 0;
};

struct HistoryPage {
  std::vector<protocol::Reply> events;  // maps, newest first
  std::optional<std::int64_t> oldest_unix_ms;
  std::optional<std::int64_t> next_until;   // none: no more events
  std::optional<std::int64_t> next_before;  // the same, as an event number
  // From when on every event of its kind is known; none: the server does not say.
  std::optional<std::int64_t> complete_since = {};
  std::optional<std::int64_t> rare_since = {};    // expired, broken and others that went wrong
  std::optional<std::int64_t> denied_since = {};  // denied
};

Result<HistoryPage> FetchHistory(Client& client, HistoryQuery query);

// The history of all partitions. That of several ones is paged by time, because each server numbers
// its own events. Fails if no leader is left.
Result<HistoryPage> FetchHistory(FleetLeaders& leaders, HistoryQuery query);

// Merges pages by time into one of `count` events; more if the last ones have the same time.
HistoryPage MergedHistory(const std::vector<HistoryPage>& pages, std::int64_t count);

// Formats events as a table, newest at the bottom.
std::string HistoryText(const std::vector<protocol::Reply>& events, bool has_keys,
                        const Screen& screen);

// One event as a line of a list that grows.
std::string HistoryLine(const protocol::Reply& event, const Screen& screen);

// Whether the server has forgotten anything.
bool HasForgotten(const HistoryPage& page);
// What is not known any more, and since when: part of a sentence; empty if the server does not say.
std::string ShowKnownSince(const HistoryPage& page);

// Details of an event that have no column of their own: its reason, the holder, the user that broke
// a lock.
std::string ShowEventDetails(const protocol::Reply& event, const Screen& screen);

Tint TintOfEvent(std::string_view event);

boost::json::object ObjectOf(const HistoryPage& page);

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

// Returns one map like those of the servers, its rows in the same order: by label and, with
// `is_by_minute`, by minute. Counts are added up. A percentile cannot be computed from those of the
// parts; the highest of them is an upper bound.
//
// REQUIRES: there is at least one reply.
protocol::Reply MergedStats(const std::vector<protocol::Reply>& replies, bool is_by_minute);

}  // namespace fairlock::cli
