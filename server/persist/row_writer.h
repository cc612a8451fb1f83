// Writes the rows that the engine reports into a record.
#pragma once

#include "server/engine/api/change_log.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

// The record must outlive the writer.
class RowWriter final : public engine::RowSink {
 public:
  explicit RowWriter(storage::RecordWriter& record) : record_(record) {}

  void Take(const rows::Hold& hold) override { PutRow(record_, hold); }
  void Take(const rows::Place& place) override { PutRow(record_, place); }
  void Take(const rows::Cooldown& cooldown) override { PutRow(record_, cooldown); }

 private:
  storage::RecordWriter& record_;
};

}  // namespace fairlock::persist
