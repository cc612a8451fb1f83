// Commands of Redis that a lock server has not.
#pragma once

#include <string_view>

namespace fairlock::command {

// What to use instead, as the end of a sentence; empty: Redis has no such command either.
std::string_view InsteadOf(std::string_view command);

// It concerns clusters, and nothing else.
bool IsOfClusters(std::string_view command);

}  // namespace fairlock::command
