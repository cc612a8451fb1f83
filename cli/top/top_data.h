// Fetches the data of the full-screen view.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/connection/fleet_leaders.h"
#include "cli/views/contended_locks.h"
#include "cli/views/info_report.h"
#include "cli/views/lock_views.h"
#include "cli/views/verdict.h"

namespace fairlock::cli {

// Identifies a key: database and name.
struct TopKey {
  int database = 0;
  std::string key;

  friend bool operator==(const TopKey&, const TopKey&) = default;
};

struct LabelRow {
  std::string label;
  std::int64_t acquired = 0;
  std::int64_t after_wait = 0;
  std::int64_t denied = 0;
  std::optional<DurationMs> wait_p99_ms;
  std::optional<DurationMs> hold_p50_ms;
};

struct Overview {
  TimeMs at = 0;
  InfoReport info{""};
  Contended contended;
  Verdict verdict;
  std::vector<LabelRow> labels;  // busiest first; empty if the server keeps no statistics
  std::size_t answered = 1;      // how many partitions have answered,
  std::size_t partitions = 1;    // how many there are
};

struct OneKey {
  LockView lock;
  std::vector<PlaceView> places;
};

struct KeyHistory {
  std::vector<protocol::Reply> events;  // newest first
  std::string refusal;                  // why the server shows no history
};

Result<Overview> FetchOverview(FleetLeaders& leaders, const ContentionQuery& query);
Result<OneKey> FetchKey(Client& client, const TopKey& key, std::int64_t places_max);
Result<KeyHistory> FetchKeyHistory(Client& client, const TopKey& key, std::int64_t events_max);

}  // namespace fairlock::cli
