// Which slots of one key are taken: by holds, reservations and cooldowns.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::engine {

// O(1) if all limits are equal, else O(number of different limits).
class Slots {
 public:
  void Take(const Mode& mode);
  void Free(const Mode& mode);  // REQUIRES: a slot of that mode was taken

  // Whether, with one more slot of that mode, the number of slots taken would stay within the new
  // slot's limit and all other limits.
  bool HasSlotFor(const Mode& mode) const;
  // The same, but with `limit` instead of the limits that clients gave; 0: no slot is free.
  bool HasSlotFor(const Mode& mode, std::uint32_t limit) const;
  std::uint32_t taken() const { return taken_; }
  std::uint32_t taken_shared() const { return taken_shared_; }
  // The smallest limit among the slots taken that are not shared; 0 if there are none.
  std::uint32_t smallest_limit() const { return limits_.empty() ? 0 : limits_.front().first; }

 private:
  std::uint32_t taken_ = 0;
  std::uint32_t taken_shared_ = 0;
  std::uint32_t taken_with_limit_ = 0;  // slots whose limit was given by a client
  // Each limit and the number of slots that have it, sorted; nearly always one element.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> limits_;
};

}  // namespace fairlock::engine
