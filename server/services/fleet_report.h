// What a node says about the leader of its fleet, from what it knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/command/environment/fleet.h"
#include "storage/replicated/beat.h"
#include "storage/replicated/fleet_view.h"
#include "storage/replicated/node_record.h"
#include "text/address.h"

namespace fairlock::server {

// The references must outlive this.
struct FleetKnowledge {
  const storage::replicated::NodeRecord& own;  // about this node; its partition is known
  const storage::replicated::FleetView& view;  // may be old
  // What this node, as a standby, has last seen of the leader of its partition, and how long ago.
  storage::replicated::Beat seen = {};
  storage::replicated::DurationMs heard_ms_ago = 0;
  bool awaits_acceptance = false;  // as in Standby
  // For how long etcd has not confirmed that this node leads, once that makes it unsure; -1 if it
  // is sure, or stands by.
  storage::replicated::DurationMs unsure_ms = -1;
};

// Fills in who leads this node's partition, as far as this node knows. An unsure leader counts as
// one here; ReportFleet names it only as the last leader.
void ReportLeader(const FleetKnowledge& known, command::FleetReport& report);
// Does the same, and adds all nodes. REQUIRES: the report has the name and the partition of this
// node.
void ReportFleet(const FleetKnowledge& known, command::FleetReport& report);

// The record of that name; null if there is none.
const storage::replicated::NodeRecord* FindRecord(const storage::replicated::FleetView& view,
                                                  std::string_view name);

// The address that a node announces; what is not given in it is empty or 0.
text::Address AnnouncedAddress(std::string_view address);

}  // namespace fairlock::server
