// The Redis version that the server reports, for clients that choose features by version.
#pragma once

#include <string_view>

namespace fairlock::command {

// HELLO and INFO report this version beside our own. For 7.2, client libraries use RESP3 and
// release their locks by WATCH, MULTI and EXEC or by scripts; for newer versions they expect hash
// field expiry and other features that a lock server does not need.
inline constexpr std::string_view kRedisVersion = "7.2.4";

}  // namespace fairlock::command
