// The leader of a fleet as the master of Redis Sentinel, and the messages about its changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/command/environment/fleet.h"

namespace fairlock::sentinel {

// The fleet at one moment.
struct MasterView {
  command::FleetReport fleet;
  // The leader; if no node leads, the last one that this node has known. Empty and 0: none yet.
  std::string host;
  std::uint16_t port = 0;
  // No node leads, or this node leads without confirmation from etcd: locks cannot be asked for.
  bool is_down = true;
};

// A message for those who are subscribed to the channel.
struct Message {
  std::string channel;
  std::string text;
};

// Loop-confined.
class LeaderWatch {
 public:
  // `fleet` must outlive it.
  explicit LeaderWatch(const command::Fleet& fleet) : fleet_(fleet) {}

  MasterView View() const;
  // The messages about what has changed since the last call, as Redis Sentinel publishes them:
  // +switch-master, +slave, +odown and -odown.
  std::vector<Message> Look();

 private:
  const command::Fleet& fleet_;
  std::string last_host_;
  std::uint16_t last_port_ = 0;
  bool was_down_ = true;
};

}  // namespace fairlock::sentinel
