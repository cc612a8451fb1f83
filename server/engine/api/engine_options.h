// The options of the lock engine that an operator chooses.
#pragma once

#include <cstdint>

#include "server/engine/api/key_rules.h"
#include "server/engine/api/types.h"

namespace fairlock::engine {

struct EngineOptions {
  DurationMs default_lease_ms = 30'000;
  DurationMs reconnect_grace_ms = 2'000;  // how long a place without KEEP outlives its connection
  DurationMs keep_ms_max = 60'000;  // the longest KEEP; checked by the code that parses the request
  Token first_token = 1;            // of the first grant
  std::uint64_t hash_seed =
      0;  // a secret of the process, so that nobody can construct colliding keys
  std::uint64_t locks_max = ~0ULL;
  std::uint64_t places_max = ~0ULL;
  std::uint64_t places_per_key_max = ~0ULL;  // like places_max, this also counts watchers
  // The limit on holds and places per client. Each counts for the client that requested it last.
  std::uint64_t claims_per_client_max = ~0ULL;
  std::size_t limit_overrides_max = 100;
  // DEL and similar commands also end holds granted by LOCK, not only those taken the Redis way.
  bool ends_native_leases = false;
  // Places without KEEP are stored too, so that their owners can return to them after a restart.
  bool stores_all_places = false;
  // How many places may be granted between two calls of Advance, beyond the first one of each
  // queue. Others follow in the next calls; at least 1.
  std::size_t grants_of_a_turn = 1'000;
  KeepRules keep_rules =
      {};  // how long the place of a SET NX is kept after the request; at most keep_ms_max
  std::size_t deadlock_search = 10'000;  // how many places and holds are examined for one wait
};

}  // namespace fairlock::engine
