// Writes small values into batches and snapshots.
#pragma once

#include <cstdint>

#include "server/engine/containers/time.h"
#include "server/values/value_store.h"
#include "storage/records/record.h"

namespace fairlock::persist {

// Loop-confined. Keeps the log of the store on until it is destroyed; the store must outlive it.
class ValueWriter {
 public:
  explicit ValueWriter(values::ValueStore& values) : values_(values) { values_.set_logging(true); }
  ValueWriter(const ValueWriter&) = delete;
  ValueWriter& operator=(const ValueWriter&) = delete;
  ~ValueWriter() { values_.set_logging(false); }

  bool has_changes() const { return values_.has_logged(); }
  // Adds the rows of everything that has changed since the last call.
  void Write(storage::RecordWriter& batch);
  // Adds about `count` values from `cursor` on, or fewer if no more fit into a slice of a snapshot,
  // and returns the next cursor, 0 at the end.
  std::uint64_t WriteSlice(std::uint64_t cursor, std::size_t count,
                           const values::ValueDetail& detail, engine::TimeMs now,
                           storage::RecordWriter& slice) const;

 private:
  values::ValueStore& values_;
};

}  // namespace fairlock::persist
