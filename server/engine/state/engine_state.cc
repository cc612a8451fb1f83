#include "server/engine/state/engine_state.h"

#include <cassert>

namespace fairlock::engine {

EngineState::EngineState(const EngineOptions& engine_options)
    : options(engine_options),
      channels(engine_options.hash_seed),
      table(engine_options.hash_seed),
      next_token(engine_options.first_token),
      waiting(engine_options.hash_seed),
      grants_left(engine_options.grants_of_a_turn) {
  assert(next_token > 0);
}

}  // namespace fairlock::engine
