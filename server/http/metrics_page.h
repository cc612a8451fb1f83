// The metrics page for Prometheus.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/server_parts.h"
#include "server/http/shared_answers.h"

namespace fairlock::http {

// Counts the current locks by label.
struct LocksOfLabel {
  std::uint64_t holders = 0;
  std::uint64_t waiters = 0;
  std::uint64_t endless_locks = 0;  // locks with a hold that never expires
  engine::DurationMs oldest_hold_ms = 0;
  engine::DurationMs longest_wait_ms = 0;
};

// A walk over all locks, one page per step. Loop-confined.
class LockSurvey {
 public:
  static constexpr std::size_t kLocksPerStep = 100;

  explicit LockSurvey(command::ServerParts& server);

  // Returns true after the last step.
  bool Step(engine::TimeMs now);

  // In the order of record::LabelTotals; a single entry for all locks if labels are off.
  const std::vector<LocksOfLabel>& by_label() const { return by_label_; }

 private:
  LocksOfLabel& OfLabel(std::string_view label);

  command::ServerParts& server_;
  std::vector<LocksOfLabel> by_label_;
  std::uint64_t cursor_ = 0;
};

// Returns the page in text format 0.0.4. Its size does not depend on the number of keys, owners or
// connections. It is below 64 KB, because LabelTotals limits the number of series with a label.
std::string MetricsPage(command::ServerParts& server, const LockSurvey& survey, engine::TimeMs now);

// Returns work that surveys all locks and then makes the page.
std::unique_ptr<SharedWork> MakeMetricsPage(command::ServerParts& server);

}  // namespace fairlock::http
