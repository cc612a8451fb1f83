// Formats the reply to CLUSTER STATUS for people.
#pragma once

#include <cstdint>
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

}  // namespace fairlock::cli
