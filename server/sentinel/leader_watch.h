// Presents the leader of a fleet as a Redis Sentinel master, and reports when that changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/command/environment/fleet.h"

namespace fairlock::sentinel {

// The fleet at one moment.
struct MasterView {
  command::FleetReport fleet;
  // The address of the leader or, if no node leads, of the last leader that this node knew. Empty
  // and 0 if this node has not known any leader yet.
  std::string host;
  std::uint16_t port = 0;
  // True if no node leads, or if this node leads but etcd does not confirm it: locks cannot be
  // requested then.
  bool is_down = true;
};

// A message for the subscribers of a channel.
struct Message {
  std::string channel;
  std::string text;
};

// Loop-confined.
class LeaderWatch {
 public:
  // `fleet` must outlive this object.
  explicit LeaderWatch(const command::Fleet& fleet) : fleet_(fleet) {}

  MasterView View() const;
  // Returns messages about what has changed since the last call, in the form in which Redis
  // Sentinel publishes them: +switch-master, +slave, +odown and -odown.
  std::vector<Message> Look();

 private:
  const command::Fleet& fleet_;
  std::string last_host_;
  std::uint16_t last_port_ = 0;
  bool was_down_ = true;
};

}  // namespace fairlock::sentinel
