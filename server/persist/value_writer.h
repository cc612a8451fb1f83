// Writes values into batches and snapshots.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "contracts/loop_confined.h"
#include "server/engine/containers/time.h"
#include "server/values/value_store.h"
#include "storage/records/record.h"

namespace fairlock::persist {

// Keeps the log of the store on until it is destroyed; the store must outlive it.
class ValueWriter : contracts::LoopConfined {
 public:
  explicit ValueWriter(values::ValueStore& values) : values_(values) { values_.set_logging(true); }
  ValueWriter(const ValueWriter&) = delete;
  ValueWriter& operator=(const ValueWriter&) = delete;
  ~ValueWriter() { values_.set_logging(false); }

  bool has_changes() const { return values_.has_logged(); }
  // Adds the rows of everything that has changed since the last call.
  void Write(storage::RecordWriter& batch);
  // Begins the values' part of a snapshot. What changes from now on is in batches that follow.
  void BeginSnapshot();
  // Adds about `count` values or elements, or fewer if no more fit into a slice of a snapshot.
  // Returns false at the end.
  bool WriteSlice(std::size_t count, const values::ValueDetail& detail, engine::TimeMs now,
                  storage::RecordWriter& slice);

 private:
  // A large value whose elements from `cursor` on are still to be written.
  struct Unfinished {
    std::uint8_t db = 0;
    std::string key;
    std::uint64_t number = 0;
    std::uint64_t cursor = 0;
  };

  void WriteElements(std::size_t count, storage::RecordWriter& slice);

  values::ValueStore& values_;
  std::uint64_t cursor_ = 0;
  bool are_all_visited_ = false;
  std::deque<Unfinished> unfinished_;
};

}  // namespace fairlock::persist
