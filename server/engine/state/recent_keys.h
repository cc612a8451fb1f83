// Remembers counters and recent averages of keys after their holds have ended, in a table of fixed
// size.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::engine {

// One key's record; one cache line.
struct alignas(64) RecentKey {
  std::uint64_t hash = 0;   // 0: free
  std::uint32_t ended = 0;  // holds that ended
  std::uint32_t granted_after_wait = 0;
  std::uint32_t denied = 0;
  std::uint32_t expired = 0;
  float hold_mean_ms = -1;  // -1: no data
  float wait_mean_ms = -1;
  std::uint32_t touches = 0;  // since the last collision; the key with fewer touches is evicted

  void NoteHold(DurationMs held_ms) { Blend(hold_mean_ms, held_ms); }
  void NoteWait(DurationMs waited_ms) { Blend(wait_mean_ms, waited_ms); }

 private:
  // Updates an exponentially weighted mean: the last eight values have two thirds of the weight.
  static void Blend(float& mean, DurationMs value);
};

// A two-way table: the hash of a key selects a pair of records, which it shares with other keys. A
// new key evicts the less used of the two. O(1); 1 MiB in total.
class RecentKeys {
 public:
  RecentKeys() : records_(kRecords) {}

  // The key's record, created if there is none.
  RecentKey& Touch(std::uint64_t hash);
  const RecentKey* Find(std::uint64_t hash) const;
  void Prefetch(std::uint64_t hash) const { __builtin_prefetch(&records_[IndexOf(hash)]); }

 private:
  static constexpr std::size_t kRecords = 1U << 14;

  static std::size_t IndexOf(std::uint64_t hash) {
    return static_cast<std::size_t>(hash >> 32) & (kRecords - 2);
  }

  std::vector<RecentKey> records_;
};

}  // namespace fairlock::engine
