// What an operator chooses about the lock engine.
#pragma once

#include <cstdint>

#include "server/engine/api/keep_rules.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

struct EngineOptions {
  DurationMs default_lease_ms = 30'000;
  DurationMs reconnect_grace_ms = 2'000;  // how long a place without KEEP outlives its connection
  DurationMs keep_ms_max = 60'000;        // the longest KEEP, checked by who reads the request
  Token first_token = 1;                  // the first grant gets this one
  std::uint64_t hash_seed = 0;  // secret of the process, so that nobody can choose colliding keys
  std::uint64_t locks_max = ~0ULL;
  std::uint64_t places_max = ~0ULL;
  std::uint64_t places_per_key_max = ~0ULL;     // and watchers, as places_max
  std::uint64_t claims_per_client_max = ~0ULL;  // holds and places that one client asked for last
  std::size_t limit_overrides_max = 100;
  // What DEL and its kin do to holds taken the Redis way, they do to those of LOCK too.
  bool ends_native_leases = false;
  // Also a place without KEEP is stored, so that its owner continues in it after a restart.
  bool stores_all_places = false;
  KeepRules keep_rules = {};  // a place of SET NX outlives it for so long, at most for keep_ms_max
  std::size_t deadlock_search = 10'000;  // how many places and holds are looked at for a wait
};

}  // namespace fairlock::engine
