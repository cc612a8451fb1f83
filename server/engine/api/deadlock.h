// Why a wait would never end.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::engine {

// `waiter` waits for `key`, which `blocker` holds or is ahead in the queue for.
struct DeadlockLink {
  std::string_view waiter;
  KeyName key;
  std::string_view blocker;
  bool is_held = false;
};

// The first links of a chain that begins with the asker; the blocker of each is the waiter of the
// next, and the last of all is the asker or one that was named before. All views are valid until
// the next call of the engine, and as long as the request.
struct Deadlock {
  static constexpr std::size_t kLinksMax = 8;

  std::vector<DeadlockLink> links;
  std::size_t link_count = 0;  // of the whole chain
};

}  // namespace fairlock::engine
