// Receives each event that the history records.
#pragma once

#include <cstdint>

#include "server/record/history_record.h"

namespace fairlock::record {

// Loop-confined; the implementation may pass events on to a thread of its own.
class EventTap {
 public:
  // The record is valid only during the call.
  virtual void Take(const HistoryRecord& record) = 0;
  // How many events have been written to a file, and how many are missing there.
  virtual std::uint64_t written() const = 0;
  virtual std::uint64_t dropped() const = 0;

 protected:
  ~EventTap() = default;
};

}  // namespace fairlock::record
