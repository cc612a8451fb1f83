// How long the runs of a log have served, which tells how much of a lease has passed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "contracts/loop_confined.h"
#include "server/engine/containers/time.h"
#include "storage/records/record.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

// A process that takes over a log cannot compare its clock with that of the process before, so it
// cannot know how much of a lease is left; each take-over would start all leases again. So a run
// stores from time to time for how long it has served. Only a process that leads can store
// anything, so that much of each lease has passed that was not renewed since the run began. What a
// run has served since it stored that last is not counted, so no lease ends early.
//
// It is stored while a lease from before the run may be running, each time another sixteenth has
// passed, but at most once a second.
class ServedTime : contracts::LoopConfined {
 public:
  // All runs before have served for `before_ms`; the leases that they have left end by `until`.
  ServedTime(std::uint64_t before_ms, engine::TimeMs now, engine::TimeMs until)
      : before_ms_(before_ms), begun_at_(now), until_(until), next_(now + kPauseMsMin) {}

  // Adds the first row of the run.
  void WriteBegin(storage::RecordWriter& record) const {
    Put(record, before_ms_, storage::kServedBegin);
  }
  // Adds the time until now.
  void Write(engine::TimeMs now, storage::RecordWriter& record) {
    AssertInLoop();
    const engine::DurationMs served_ms = std::max<engine::DurationMs>(now - begun_at_, 0);
    Put(record, before_ms_ + static_cast<std::uint64_t>(served_ms), {});
    next_ = now >= until_ ? engine::kNever : now + std::max(kPauseMsMin, served_ms / kParts);
  }
  // When to call Write next.
  engine::TimeMs NextDeadline() const { return next_; }

 private:
  static constexpr engine::DurationMs kPauseMsMin = 1'000;
  static constexpr engine::DurationMs kParts = 16;

  static void Put(storage::RecordWriter& record, std::uint64_t served_ms, std::string_view text) {
    PutRow(record,
           storage::MetaRow{.name = storage::MetaName::kServed, .number = served_ms, .text = text});
  }

  const std::uint64_t before_ms_;
  const engine::TimeMs begun_at_;
  const engine::TimeMs until_;
  engine::TimeMs next_;
};

// What a log says about how long its runs have served.
//
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
