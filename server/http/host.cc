#include "server/http/host.h"

#include <boost/url/authority_view.hpp>
#include <boost/url/host_type.hpp>

namespace fairlock::http {

namespace {

// port_number() is 0 for a number above 65535.
bool IsPort(const boost::urls::authority_view& authority) {
  return !authority.has_port() || authority.port().empty() || authority.port_number() != 0;
}

}  // namespace

std::optional<Host> ParseHost(std::string_view text) {
  using boost::urls::host_type;
  const auto parsed = boost::urls::parse_authority({text.data(), text.size()});
  if (!parsed || parsed->has_userinfo() || !IsPort(*parsed)) return std::nullopt;
  const host_type type = parsed->host_type();
  if (type == host_type::none || type == host_type::ipvfuture || parsed->host().empty()) {
    return std::nullopt;
  }
  return Host{.name = std::string(parsed->encoded_host()),
              .is_address = type == host_type::ipv4 || type == host_type::ipv6};
}

}  // namespace fairlock::http
