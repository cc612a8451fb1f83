// A fleet's nodes as Redis Sentinel describes them: fields with values, all text.
#pragma once

#include <string>
#include <string_view>

#include "protocol/reply_writer.h"
#include "server/sentinel/leader_watch.h"

namespace fairlock::sentinel {

// 40 hexadecimal digits, the same from every node: the Sentinel id of that node.
std::string IdOf(std::string_view fleet, std::string_view node);

// The reply to SENTINEL MASTER. `unix_ms`: the time.
void WriteMaster(const MasterView& view, std::int64_t unix_ms, protocol::ReplyWriter& reply);
// The reply to SENTINEL REPLICAS: the standbys.
void WriteReplicas(const MasterView& view, protocol::ReplyWriter& reply);
// The reply to SENTINEL SENTINELS: the other nodes that have a Sentinel port.
void WriteSentinels(const MasterView& view, protocol::ReplyWriter& reply);

// How many other nodes have a Sentinel port.
std::size_t CountOtherSentinels(const command::FleetReport& fleet);
std::size_t CountStandbys(const command::FleetReport& fleet);

}  // namespace fairlock::sentinel
