// The messages on the channels of all partitions of a fleet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/command.h"
#include "cli/base/clock.h"
#include "cli/connection/async_connection.h"
#include "cli/connection/fleet_leaders.h"
#include "protocol/reply.h"

namespace fairlock::cli {

// Subscribes to a pattern on the leader of each partition, because a leader publishes only the
// events of its own locks. If a leader is lost, says so once, and subscribes again as soon as a
// node leads its partition.
class FleetEvents {
 public:
  // `context` must outlive this object.
  FleetEvents(std::string pattern, const FleetLeaders& leaders, Context& context);

  // Returns the next message, or reply to a subscription, of any partition; nullopt at `until`.
  std::optional<protocol::Reply> Next(TimeMs until);

  // Whether every partition is subscribed.
  bool is_whole() const;

 private:
  struct Source {
    std::unique_ptr<AsyncConnection> connection;  // null if the partition is lost
    bool was_said = false;                        // the user knows that it is lost
  };

  void Subscribe(const FleetLeaders& leaders);
  std::optional<protocol::Reply> TakeReceived();
  void Lose(std::size_t partition, const std::string& reason);
  void FindLost();
  void WaitForEvents(TimeMs until);

  std::string pattern_;
  Context& context_;
  std::vector<Source> sources_;  // one per partition
  TimeMs find_at_ = kForever;    // when to look for the leaders of lost partitions
  std::size_t next_source_ = 0;  // takes turns, so that no partition waits for a busy one
};

}  // namespace fairlock::cli
