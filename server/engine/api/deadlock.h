// Why a wait would never end.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "server/engine/api/types.h"

namespace fairlock::engine {

// `waiter` waits for `key`; `blocker` holds it, or is ahead of the waiter in its queue.
struct DeadlockLink {
  std::string_view waiter;
  KeyName key;
  std::string_view blocker;
  bool is_held = false;
};

// The first links of a chain that begins with the asker. The blocker of each link is the waiter of
// the next; the blocker of the chain's last link is the asker or an owner named earlier. The views
// are valid until the next call of the engine, but not longer than the request.
struct Deadlock {
  static constexpr std::size_t kLinksMax = 8;

  std::vector<DeadlockLink> links;
  std::size_t link_count = 0;  // the length of the whole chain
};

}  // namespace fairlock::engine
