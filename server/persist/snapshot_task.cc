#include "server/persist/snapshot_task.h"

#include <algorithm>

#include "server/persist/persist_limits.h"
#include "server/persist/row_writer.h"

namespace fairlock::persist {

namespace {

// A snapshot begins when the total size of the batches since the last one reaches this, or twice
// the size of the last snapshot if that is more.
constexpr std::uint64_t kBatchBytesMax = std::uint64_t{64} << 20;
// While more bytes than this wait for the journal, no slice is added, so that replies are not
// delayed.
constexpr std::uint64_t kWaitingBytesOfSlices = kWaitingBytesMax / 4;

}  // namespace

bool SnapshotTask::IsHeldUp() const { return journal_.depth().bytes > kWaitingBytesOfSlices; }

void SnapshotTask::Advance(engine::TimeMs now, const WriteHead& write_head) {
  if (!cursor_) {
    if (batch_bytes_ < std::max(kBatchBytesMax, 2 * snapshot_bytes_)) return;
    journal_.BeginSnapshot();
    cursor_ = 0;
    batch_bytes_ = snapshot_bytes_ = 0;
    write_head(slice_);
  }
  if (IsHeldUp()) return;
  RowWriter rows(slice_);
  const engine::RowDetail detail{.with_all_places = engine_.options().stores_all_places};
  const std::uint64_t next = engine_.ScanRows(*cursor_, kLocksOfASlice, detail, now, rows);
  snapshot_bytes_ += slice_.size();
  journal_.AppendSlice(slice_);
  cursor_ = next;
  if (next != 0) return;
  cursor_.reset();
  journal_.FinishSnapshot();
}

void SnapshotTask::WriteFinal(engine::TimeMs now, const WriteHead& write_head) {
  journal_.BeginSnapshot();
  write_head(slice_);
  std::uint64_t cursor = 0;
  do {
    RowWriter rows(slice_);
    cursor = engine_.ScanRows(cursor, kLocksOfASlice,
                              {.with_time_left = true, .with_all_places = true}, now, rows);
    journal_.AppendSlice(slice_);
    if (journal_.depth().bytes > kWaitingBytesMax) journal_.AwaitWritten();
  } while (cursor != 0);
  journal_.FinishSnapshot();
  cursor_.reset();
}

void SnapshotTask::WriteEmpty(const WriteHead& write_head) {
  journal_.BeginSnapshot();
  write_head(slice_);
  journal_.AppendSlice(slice_);
  journal_.FinishSnapshot();
  batch_bytes_ = 0;
}

}  // namespace fairlock::persist
