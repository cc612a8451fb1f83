#include "server/net/relay/leader_address.h"

#include <charconv>

namespace fairlock::net {

std::optional<LeaderAddress> ParseLeaderAddress(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || is_bracketed != (host.find(':') != std::string_view::npos))
    return std::nullopt;
  LeaderAddress address{.host = std::string(host)};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || stop != end) return std::nullopt;
  return address;
}

}  // namespace fairlock::net
