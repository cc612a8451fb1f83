// Which Redis the server answers as, to clients that choose their way by the version.
#pragma once

#include <string_view>

namespace fairlock::command {

// HELLO and INFO report this beside our own version. At 7.2 client libraries use RESP3 and release
// their locks by WATCH, MULTI and EXEC or by scripts; newer ones expect hash field expiry and more
// that a lock server has no use for.
inline constexpr std::string_view kRedisVersion = "7.2.4";

}  // namespace fairlock::command
