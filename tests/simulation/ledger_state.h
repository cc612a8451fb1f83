// What the ledger knows about each key.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/engine/api/types.h"
#include "tests/simulation/outcome.h"

namespace fairlock::simulation {

// The state according to what clients have been told.
struct LedgerState {
  struct Hold {
    int owner = kAbsent;
    std::vector<int> keys{};  // the keys granted together with it
    bool is_mlock = false;
    Token token = 0;
    engine::Mode mode;
    DurationMs lease_ms = 0;  // 0 if there is none
    TimeMs lease_end = 0;
    TimeMs end = 0;  // end of the lease or of the grace
    std::optional<DurationMs> session_grace_ms;
    int session_connection = kAbsent;
    TimeMs cool_until = 0;       // MINHOLD; 0 if there is none
    std::uint64_t arrival = 0;   // the arrival of the place that it came from; 0 if there is none
    DurationMs keep_ms = 0;      // KEEP of that place
    DurationMs min_hold_ms = 0;  // MINHOLD of that place
    int client = kAbsent;        // the connection of the last request
    int channel = kAbsent;       // NOTIFY
    TimeMs wait_end = engine::kNever;  // when the wait of that place ends, with NOTIFY
    bool is_confirmed = false;
    bool is_redis_way = false;
    bool has_notice = false;  // BREAK with GRACE has given it notice
    bool is_leaving = false;  // the judged command ends it
  };
  enum class PlaceState : std::uint8_t { kWaiting, kSuperseded, kKept, kPassedOver };
  // For MLOCK, the place is the same on each of its keys.
  struct Place {
    int owner = kAbsent;
    std::vector<int> keys{};
    bool is_mlock = false;
    std::uint64_t arrival = 0;
    PlaceState state = PlaceState::kWaiting;
    int connection = kAbsent;
    int client = kAbsent;  // the connection of the last request
    engine::Mode mode;
    DurationMs lease_ms = 0;
    DurationMs keep_ms = 0;
    std::optional<DurationMs> session_grace_ms;
    DurationMs min_hold_ms = 0;
    bool is_redis_way = false;
    TimeMs end = 0;                    // the end of WAIT, KEEP or grace
    int channel = kAbsent;             // for NOTIFY; then used instead of the connection
    TimeMs wait_end = engine::kNever;  // the end of WAIT, with NOTIFY
    bool is_mark = false;  // a value that has been denied once; it does not count as a place yet

    bool is_absent() const {
      return state == PlaceState::kKept || state == PlaceState::kPassedOver;
    }
  };
  struct Cooling {
    engine::Mode mode;
    TimeMs end = 0;
  };
  struct Watcher {
    int connection = kAbsent;
    Token newest_token = 0;
    TimeMs give_up = 0;
  };
  struct Key {
    std::optional<std::uint32_t> limit_override;
    std::vector<Hold> holds;
    std::vector<Place> line;  // the places in the order of arrival
    std::vector<Cooling> cooling;
    std::vector<Watcher> watchers;
  };
};

}  // namespace fairlock::simulation
