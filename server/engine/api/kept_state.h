// What is kept of holds, places and slots that cool: how they leave the lock engine, and come back.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::engine {

// The options that holds and places have alike. Views are into the engine, until its next step.
struct KeptClaim {
  std::string_view owner = {};
  Mode mode = {};
  bool is_redis_way = false;
  DurationMs lease_ms = 0;                          // the length on record; 0: without end
  std::optional<DurationMs> session_grace_ms = {};  // SESSION
  DurationMs min_hold_ms = 0;
  std::optional<std::string_view> meta = {};
  std::string_view label = {};                   // empty: none
  std::optional<std::string_view> channel = {};  // NOTIFY
  // All keys of its MLOCK, also those whose holds have ended; empty: it is of none.
  std::vector<std::string_view> mlock_keys = {};
};

struct KeptHold {
  KeyName key = {};
  Token token = 0;
  KeptClaim claim = {};
  std::optional<DurationMs> left_ms = {};  // of the lease, if it is not to begin anew
};

// Of an MLOCK there is one, and `key` is any of its keys.
struct KeptPlace {
  KeyName key = {};
  std::uint64_t arrival = 0;  // its order among all places
  KeptClaim claim = {};
  DurationMs keep_ms = 0;                  // 0: skipped until its owner asks again
  std::optional<DurationMs> wait_ms = {};  // with NOTIFY: its WAIT, if that has an end
};

// A slot that MINHOLD keeps taken.
struct KeptCooling {
  KeyName key = {};
  Token token = 0;  // of the hold that ended
  Mode mode = {};
  DurationMs left_ms = 0;
};

// Takes what LockEngine::ScanKept finds.
class KeptSink {
 public:
  virtual void Take(const KeptHold& hold) = 0;
  virtual void Take(const KeptPlace& place) = 0;
  virtual void Take(const KeptCooling& cooldown) = 0;

 protected:
  ~KeptSink() = default;
};

// How much of what is found is written down.
struct KeptDetail {
  bool with_time_left = false;   // of leases; else they begin anew after a restart
  bool with_all_places = false;  // also those that do not outlive their connection
};

}  // namespace fairlock::engine
