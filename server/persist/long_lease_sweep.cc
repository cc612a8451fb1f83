#include "server/persist/long_lease_sweep.h"

#include "server/persist/row_writer.h"

namespace fairlock::persist {

void LongLeaseSweep::Advance(engine::TimeMs now, storage::RecordWriter& batch) {
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
