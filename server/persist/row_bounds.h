// The bounds on stored rows.
#pragma once

#include "storage/records/rows.h"

namespace fairlock::persist {

// Whether the engine accepts the values. They may be out of bounds even if the row is well-formed,
// because it may come from a version with different bounds.
bool IsWithinBounds(const rows::Hold& row);
bool IsWithinBounds(const rows::Place& row);
bool IsWithinBounds(const rows::Cooldown& row);
bool IsWithinBounds(const storage::LimitRow& row);
bool IsWithinBounds(const rows::Value& row);

}  // namespace fairlock::persist
