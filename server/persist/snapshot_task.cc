#include "server/persist/snapshot_task.h"

#include <algorithm>
#include <cassert>

#include "server/persist/persist_limits.h"

namespace fairlock::persist {

namespace {

// While more bytes than this wait for the journal, no slice is added, so that replies are not
// delayed.
constexpr std::uint64_t kWaitingBytesOfSlices = kWaitingBytesMax / 4;

}  // namespace

bool SnapshotTask::IsDue() const {
  const std::uint64_t bound = std::max(pace_.batch_bytes, 2 * snapshot_bytes_);
  if (batch_bytes_ < bound) return false;
  const bool is_followed = !pace_.is_followed || pace_.is_followed();
  return is_followed || batch_bytes_ >= bound * pace_.factor_while_not_followed;
}

bool SnapshotTask::IsHeldUp() const { return journal_.depth().bytes > kWaitingBytesOfSlices; }

std::optional<SnapshotTask::Cursor> SnapshotTask::WritePart(const Cursor& cursor,
                                                            const engine::RowDetail& detail,
                                                            engine::TimeMs now) {
  if (cursor.is_in_values) {
    assert(values_);
    const values::ValueDetail value_detail{.with_time_left = detail.with_time_left};
    if (values_->WriteSlice(pace_.locks_of_a_slice, value_detail, now, slice_)) return cursor;
    return std::nullopt;
  }
  RowWriter rows(slice_);
  const std::uint64_t next =
      engine_.snapshots().ScanRows(cursor.next, pace_.locks_of_a_slice, detail, begun_at_, rows);
  if (next != 0) return Cursor{.next = next};
  if (!values_) return std::nullopt;
  values_->BeginSnapshot();
  return Cursor{.is_in_values = true};
}

void SnapshotTask::Advance(engine::TimeMs now, const WriteHead& write_head) {
  AssertInLoop();
  if (!cursor_) {
    if (!IsDue()) return;
    journal_.BeginSnapshot();
    cursor_ = Cursor();
    begun_at_ = now;
    batch_bytes_ = snapshot_bytes_ = 0;
    assert(slice_.empty());
    write_head(slice_);
  }
  if (IsHeldUp()) return;
  const engine::RowDetail detail{.with_all_places = engine_.options().stores_all_places};
  cursor_ = WritePart(*cursor_, detail, now);
  snapshot_bytes_ += slice_.size();
  journal_.AppendSlice(slice_);
  assert(slice_.empty());
  if (!cursor_) journal_.FinishSnapshot();
}

void SnapshotTask::WriteFinal(engine::TimeMs now, const WriteHead& write_head) {
  AssertInLoop();
  journal_.BeginSnapshot();
  write_head(slice_);
  cursor_ = Cursor();
  begun_at_ = now;
  while (cursor_) {
    cursor_ = WritePart(*cursor_, {.with_time_left = true, .with_all_places = true}, now);
    journal_.AppendSlice(slice_);
    if (journal_.depth().bytes > kWaitingBytesMax) journal_.AwaitWritten();
  }
  journal_.FinishSnapshot();
}

void SnapshotTask::WriteEmpty(const WriteHead& write_head) {
  AssertInLoop();
  journal_.BeginSnapshot();
  write_head(slice_);
  journal_.AppendSlice(slice_);
  journal_.FinishSnapshot();
  batch_bytes_ = 0;
}

void LongLeaseSweep::Advance(engine::TimeMs now, storage::RecordWriter& batch) {
  AssertInLoop();
  if (!cursor_) {
    if (now < NextDeadline()) return;
    cursor_ = 0;
    to_ = now;
  }
  RowWriter rows(batch);
  const std::uint64_t next = engine_.snapshots().ScanLongLeases(*cursor_, locks_of_a_slice_,
                                                                kLongLeaseMs, from_, to_, rows);
  cursor_ = next;
  if (next != 0) return;
  cursor_.reset();
  from_ = to_;
}

}  // namespace fairlock::persist
