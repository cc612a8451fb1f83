// Tells which requests may be sent again if the connection broke before the reply arrived.
#pragma once

#include <span>
#include <string_view>

namespace fairlock::cli {

// Whether the request continues a walk from a cursor, which no other server knows.
bool ContinuesWalk(std::span<const std::string_view> request);

// Whether the request only reads, so it does not matter whether the server has executed it. False
// if it continues a walk.
bool IsRepeatable(std::span<const std::string_view> request);

}  // namespace fairlock::cli
