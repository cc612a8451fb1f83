// Which requests may be sent again after a connection that broke before the reply arrived.
#pragma once

#include <span>
#include <string_view>

namespace fairlock::cli {

// The request continues a walk from a cursor, which no other server knows.
bool ContinuesWalk(std::span<const std::string_view> request);

// The request only reads, so it does not matter whether the server has executed it. False if it
// continues a walk.
bool IsRepeatable(std::span<const std::string_view> request);

}  // namespace fairlock::cli
