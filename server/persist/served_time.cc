#include "server/persist/served_time.h"

#include <algorithm>

#include "server/engine/api/types.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

void ServedMarks::Take(const storage::Change& change) {
  storage::MetaRow row;
  if (!storage::DecodeRow(change.key, change.value, row)) return;
  if (row.name != storage::MetaName::kServed) return;
  marks_.push_back({.served_ms = row.number, .begins_run = row.text == storage::kServedBegin});
}

void ServedMarks::Finish() {
  std::uint64_t at_run_ms = served_ms();
  for (auto mark = marks_.rbegin(); mark != marks_.rend(); ++mark) {
    if (mark->begins_run) at_run_ms = mark->served_ms;
    mark->served_at_run_ms = at_run_ms;
  }
}

// Between which marks a row was written is known, but not when: the later one is not too early.
engine::DurationMs ServedMarks::PassedMs(Count before, bool has_time_left) const {
  if (before >= marks_.size()) return 0;
  const Mark& next = marks_[before];
  const std::uint64_t from_ms = has_time_left ? next.served_ms : next.served_at_run_ms;
  const std::uint64_t passed_ms = served_ms() - std::min(from_ms, served_ms());
  return static_cast<engine::DurationMs>(
      std::min(passed_ms, static_cast<std::uint64_t>(engine::kLeaseMsMax)));
}

}  // namespace fairlock::persist
