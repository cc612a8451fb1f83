// The Redis version that the server reports, because clients choose features by version.
#pragma once

#include <string_view>

namespace fairlock::command {

// HELLO and INFO report this version in addition to our own. With 7.2, client libraries use RESP3,
// and release their locks with WATCH, MULTI and EXEC or with scripts. With newer versions they
// would expect hash field expiry and other features that a lock server does not need.
inline constexpr std::string_view kRedisVersion = "7.2.4";

}  // namespace fairlock::command
