// Formats the reply to CLUSTER STATUS for people.
#pragma once

#include <boost/json/array.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/screen.h"
#include "protocol/reply.h"

namespace fairlock::cli {

// Fairlock needs etcd 3.4.42, 3.5.28 or 3.6.9, a later patch release of one of these, or a newer
// minor version. A version that cannot be parsed counts as old.
bool IsOldEtcd(std::string_view version);

// Returns what an operator should attend to, in one sentence each, safe to print.
std::vector<std::string> FleetWarnings(const protocol::Reply& status);

// The fleet, its nodes, the members of etcd, and the warnings.
std::string FleetText(const protocol::Reply& status, std::int64_t unix_ms, const Screen& screen);

// One of several partitions.
struct PartitionView {
  std::string leader;  // its name; empty: none
  std::string address;
  // nullopt: the leader did not answer.
  std::optional<std::int64_t> epoch;
  std::optional<std::int64_t> since_unix_ms;
  bool is_unsure = false;
  std::vector<std::string> standbys;
  bool has_standby_in_sync = false;
};

// Combines what one node has replied to CLUSTER STATUS, which lists all nodes, with what the
// leaders of the partitions have replied to it.
std::vector<PartitionView> PartitionsOf(const protocol::Reply& status,
                                        const std::map<std::size_t, protocol::Reply>& of_leaders);

// The same as FleetWarnings() and FleetText(), for a fleet of several partitions.
std::vector<std::string> FleetWarnings(const protocol::Reply& status,
                                       const std::vector<PartitionView>& partitions);
std::string FleetText(const protocol::Reply& status, const std::vector<PartitionView>& partitions,
                      std::int64_t unix_ms, const Screen& screen);

boost::json::array ArrayOf(const std::vector<PartitionView>& partitions);

}  // namespace fairlock::cli
