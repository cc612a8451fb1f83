// The state of the lock engine as rows to store, and back.
#pragma once

#include "server/engine/api/kept_state.h"
#include "storage/records/rows.h"

namespace fairlock::persist {

// Views are those of what was given.
storage::HoldRow RowOf(const engine::KeptHold& hold);
storage::PlaceRow RowOf(const engine::KeptPlace& place);
storage::CooldownRow RowOf(const engine::KeptCooling& room);

// REQUIRES: rows that the engine could have; others are refused by IsRight.
engine::KeptHold HoldOf(const storage::HoldRow& row);
engine::KeptPlace PlaceOf(const storage::PlaceRow& row);
engine::KeptCooling CoolingOf(const storage::CooldownRow& row);

// Whether the values are ones that the engine takes: a row may be well-formed, and yet of a server
// with other bounds.
bool IsRight(const storage::HoldRow& row);
bool IsRight(const storage::PlaceRow& row);
bool IsRight(const storage::CooldownRow& row);
bool IsRight(const storage::LimitRow& row);

// Writes the state that the engine reports into a record, which must outlive this object.
class RowsTo final : public engine::KeptSink {
 public:
  explicit RowsTo(storage::RecordWriter& record) : record_(record) {}

  void Take(const engine::KeptHold& hold) override { PutRow(record_, RowOf(hold)); }
  void Take(const engine::KeptPlace& place) override { PutRow(record_, RowOf(place)); }
  void Take(const engine::KeptCooling& room) override { PutRow(record_, RowOf(room)); }

 private:
  storage::RecordWriter& record_;
};

}  // namespace fairlock::persist
