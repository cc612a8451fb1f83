// Shows a fleet as Redis shows a master and its replicas, in INFO and ROLE.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/reply_writer.h"
#include "server/command/environment/fleet.h"

namespace fairlock::command {

// Returns the lines of the section "Replication". Null: this server is not a node of a fleet.
std::string ReplicationLines(const Fleet* fleet);

// Writes the reply to ROLE.
void ReplyRole(const Fleet* fleet, protocol::ReplyWriter& reply);

// How many replicas have what the client's earlier requests changed, as WAIT and WAITAOF ask: all
// standbys, because a reply is only sent when etcd has the change, and a standby reads all changes
// before it takes over. A single server has none.
std::int64_t ReplicasWithAllChanges(const Fleet* fleet);

// Returns the lines about the fleet in the section "Cluster"; empty without a fleet.
std::string FleetLines(const Fleet* fleet);

}  // namespace fairlock::command
