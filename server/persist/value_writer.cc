#include "server/persist/value_writer.h"

#include "server/persist/persist_limits.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

void ValueWriter::Write(storage::RecordWriter& batch) {
  values_.TakeLog([&](const rows::ValueId& id) { storage::DeleteValue(batch, id); },
                  [&](const rows::Value& row) { PutRow(batch, row); });
}

std::uint64_t ValueWriter::WriteSlice(std::uint64_t cursor, std::size_t count,
                                      const values::ValueDetail& detail, engine::TimeMs now,
                                      storage::RecordWriter& slice) const {
  return values_.Scan(cursor, count, [&](const values::Value& value) {
    PutRow(slice, values_.RowOf(value, detail, now));
    return slice.size() < kValueBytesOfASlice;
  });
}

}  // namespace fairlock::persist
