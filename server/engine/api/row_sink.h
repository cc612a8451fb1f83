// The interface through which the lock engine returns the rows of its state to be stored.
#pragma once

#include "rows/lock_rows.h"

namespace fairlock::engine {

// Receives the rows that LockEngine::ScanRows finds. Views are valid until the engine's next step.
class RowSink {
 public:
  virtual void Take(const rows::Hold& hold) = 0;
  virtual void Take(const rows::Place& place) = 0;
  virtual void Take(const rows::Cooldown& cooldown) = 0;

 protected:
  ~RowSink() = default;
};

// How much of the state a scan reports.
struct RowDetail {
  // With the time that is left of each lease; otherwise, only of those whose time left has been
  // stored before, and the others start over after a restart.
  bool with_time_left = false;
  // With places without KEEP, to which an owner can return only within a grace.
  bool with_all_places = false;
};

}  // namespace fairlock::engine
