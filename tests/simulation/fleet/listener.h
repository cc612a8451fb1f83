// A client that hears what is published on the channel of NOTIFY.
#pragma once

#include <memory>

#include "tests/simulation/fleet/client.h"

namespace fairlock::fleet {

// Subscribes at any node, whether it leads, loads the locks or stands by, stays for a while, and
// goes to another node. Its first event starts it, and it never ends.
class Listener {
 public:
  Listener(ClientWorld& world, int nodes, std::uint64_t seed)
      : world_(world), nodes_(nodes), random_(seed) {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void Begin() { Rest(kSecond); }

 private:
  void Rest(TimeUs at_most);
  void Act();
  void Subscribe();

  ClientWorld& world_;
  const int nodes_;
  simulation::Random random_;
  std::shared_ptr<Link> link_;  // null if not connected
  std::uint64_t turn_ = 0;      // as in Client
};

}  // namespace fairlock::fleet
