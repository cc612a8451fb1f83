#include "server/persist/value_writer.h"

#include <algorithm>

#include "server/persist/persist_limits.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

namespace {

// So many elements are written before the size of the slice is looked at.
constexpr std::size_t kElementsAtOnce = 32;

class BatchOfValues final : public values::ValueLogSink {
 public:
  explicit BatchOfValues(storage::RecordWriter& batch) : batch_(batch) {}

  void PutValue(const rows::Value& row) override { PutRow(batch_, row); }
  void DeleteValue(const rows::ValueId& id) override { storage::DeleteValue(batch_, id); }
  void PutElement(const rows::Element& row) override { PutRow(batch_, row); }
  void DeleteElement(const rows::Element& row) override { storage::DeleteElement(batch_, row); }

 private:
  storage::RecordWriter& batch_;
};

}  // namespace

void ValueWriter::Write(storage::RecordWriter& batch) {
  AssertInLoop();
  BatchOfValues sink(batch);
  values_.TakeLog(sink);
}

void ValueWriter::BeginSnapshot() {
  AssertInLoop();
  cursor_ = 0;
  are_all_visited_ = false;
  unfinished_.clear();
}

bool ValueWriter::WriteSlice(std::size_t count, const values::ValueDetail& detail,
                             engine::TimeMs now, storage::RecordWriter& slice) {
  AssertInLoop();
  if (!unfinished_.empty()) {
    WriteElements(count, slice);
  } else {
    cursor_ = values_.Scan(cursor_, count, [&](const values::Value& value) {
      PutRow(slice, values_.RowOf(value, detail, now));
      if (value.number > 0) {
        const engine::KeyName key = value.name();
        unfinished_.push_back({key.db, std::string(key.bytes), value.number});
      }
      return slice.size() < kValueBytesOfASlice;
    });
    are_all_visited_ = cursor_ == 0;
  }
  return !are_all_visited_ || !unfinished_.empty();
}

void ValueWriter::WriteElements(std::size_t count, storage::RecordWriter& slice) {
  while (!unfinished_.empty() && count > 0 && slice.size() < kValueBytesOfASlice) {
    Unfinished& first = unfinished_.front();
    const values::Value* value = values_.Look({first.db, first.key});
    // If it has been deleted meanwhile, its row is deleted by a batch that follows, and so are the
    // elements that have been written.
    if (value == nullptr || value->number != first.number) {
      unfinished_.pop_front();
      continue;
    }
    const std::size_t at_once = std::min(count, kElementsAtOnce);
    first.cursor = values::ValueStore::VisitElements(
        *value, first.cursor, at_once, [&](const rows::Element& row) { PutRow(slice, row); });
    count -= at_once;
    if (first.cursor == 0) unfinished_.pop_front();
  }
}

}  // namespace fairlock::persist
