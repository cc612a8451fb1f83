#include "cli/connection/repeatable.h"

#include <algorithm>
#include <array>

namespace fairlock::cli {

bool ContinuesWalk(std::span<const std::string_view> request) {
  if (request.size() < 2) return false;
  if (request[0] == "LOCKS" || request[0] == "SCAN") return request[1] != "0";
  return request[0] == "HISTORY" && std::ranges::find(request, "BEFORE") != request.end();
}

bool IsRepeatable(std::span<const std::string_view> request) {
  // SELECT changes only the connection, which is lost anyway.
  constexpr auto kReads = std::to_array<std::string_view>(
      {"CHECK", "EXISTS", "HISTORY", "INFO", "LOCKED", "LOCKINFO", "LOCKS", "PING", "POSITION",
       "QUEUE", "SCAN", "SELECT", "STATS", "TTL"});
  constexpr auto kReadsOfContainers = std::to_array<std::array<std::string_view, 2>>(
      {{"CLIENT", "LIST"}, {"CLUSTER", "STATUS"}, {"CONFIG", "GET"}, {"LIMIT", "LIST"}});
  if (request.empty() || ContinuesWalk(request)) return false;
  if (std::ranges::find(kReads, request[0]) != kReads.end()) return true;
  if (request.size() < 2) return false;
  return std::ranges::any_of(kReadsOfContainers, [&](const auto& words) {
    return request[0] == words[0] && request[1] == words[1];
  });
}

}  // namespace fairlock::cli
