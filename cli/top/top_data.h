// What the full-screen view shows, asked for all at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"
#include "cli/views/contended.h"
#include "cli/views/info_report.h"
#include "cli/views/lock_views.h"

namespace fairlock::cli {

// Which key; equal when database and name are.
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
  std::vector<LabelRow> labels;  // the busiest first; empty also if the server does not count
};

struct OneKey {
  LockView lock;
  std::vector<PlaceView> places;
};

struct KeyPast {
  std::vector<protocol::Reply> events;  // the newest first
  std::string refusal;                  // why there are none to show
};

Result<Overview> AskForOverview(Client& client, const ContentionQuery& query);
Result<OneKey> AskForKey(Client& client, const TopKey& key, std::int64_t places_max);
Result<KeyPast> AskForKeyPast(Client& client, const TopKey& key, std::int64_t events_max);

}  // namespace fairlock::cli
