// The ids of nodes, as clients of Redis Cluster and of Redis Sentinel expect them.
#pragma once

#include <string>
#include <string_view>

namespace fairlock::command {

// 40 hexadecimal digits, always the same for a node of that name.
std::string NodeId(std::string_view fleet, std::string_view node);

}  // namespace fairlock::command
