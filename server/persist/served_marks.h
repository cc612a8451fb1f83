// What a log says about how long its runs have served.
#pragma once

#include <cstdint>
#include <vector>

#include "server/engine/containers/time.h"
#include "storage/records/record.h"

namespace fairlock::persist {

// A mark is a row that ServedTime has written. Rows of holds are counted between marks: that places
// them in time, as exactly as needed. One thread at a time.
class ServedMarks {
 public:
  // How many marks came before a row.
  using Count = std::uint32_t;

  // Notes the mark, if this row of metadata is one.
  void Take(const storage::Change& change);
  Count count() const { return static_cast<Count>(marks_.size()); }
  // Call this after the last mark, before PassedMs.
  void Finish();

  // How long all runs have served, as far as it is stored.
  std::uint64_t served_ms() const { return marks_.empty() ? 0 : marks_.back().served_ms; }
  // How much of a lease has passed, at least, when the row of its hold came after `before` marks. A
  // lease whose time left the row contains runs from then on. Another one may have been renewed in
  // the run that wrote the row, without another row, but not in a later run: it runs from the
  // beginning of the next.
  engine::DurationMs PassedMs(Count before, bool has_time_left) const;

 private:
  struct Mark {
    std::uint64_t served_ms = 0;
    bool begins_run = false;
    // That of the first mark from here on that begins a run; without one, that of the last mark.
    std::uint64_t served_at_run_ms = 0;
  };

  std::vector<Mark> marks_;
};

}  // namespace fairlock::persist
