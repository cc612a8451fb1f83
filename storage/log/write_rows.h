// Writes rows as the whole content of a new log.
#pragma once

#include <cassert>
#include <string_view>

#include "storage/log/load_log.h"
#include "storage/log/store.h"
#include "storage/records/rows.h"
#include "storage/records/snapshot_heading.h"

namespace fairlock::storage {

// Writes the rows as the slices of a snapshot, and then the heading that makes it the state of the
// log. REQUIRES: the store has no slices yet.
Status WriteRows(Store& store, const LogId& log_id, const RowTable& rows);

// Adds or replaces one row of the table.
template <typename Row>
void ApplyRow(const Row& row, RowTable& table) {
  RecordWriter record;
  PutRow(record, row);
  const std::string_view bytes = record.Seal(RecordKind::kBatch, 1, 0);
  auto reader = RecordReader::Open(bytes, RecordKind::kBatch, 1, 0);
  assert(reader.ok());
  for (Change change; reader->Next(change);) table.Apply(change);
}

}  // namespace fairlock::storage
