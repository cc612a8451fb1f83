// Describes the nodes of a fleet as Redis Sentinel does: as fields whose values are all strings.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/reply_writer.h"
#include "server/sentinel/leader_watch.h"

namespace fairlock::sentinel {

// Writes the reply to SENTINEL MASTER. `unix_ms` is the current time.
void WriteMaster(const MasterView& view, std::int64_t unix_ms, protocol::ReplyWriter& reply);
// Writes the reply to SENTINEL REPLICAS: the standbys.
void WriteReplicas(const MasterView& view, protocol::ReplyWriter& reply);
// Writes the reply to SENTINEL SENTINELS: the other nodes that have a Sentinel port.
void WriteSentinels(const MasterView& view, protocol::ReplyWriter& reply);

// Counts the other nodes that have a Sentinel port.
std::size_t CountOtherSentinels(const command::FleetReport& fleet);
std::size_t CountStandbys(const command::FleetReport& fleet);

}  // namespace fairlock::sentinel
