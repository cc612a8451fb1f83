#include "text/address.h"

#include "text/number.h"

namespace fairlock::text {

AddressParts SplitAddress(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return {.host = address, .port = std::nullopt};
  return {.host = address.substr(0, colon), .port = address.substr(colon + 1)};
}

std::string_view WithoutBrackets(std::string_view host) {
  const bool is_bracketed = host.size() >= 2 && host.starts_with('[') && host.ends_with(']');
  return is_bracketed ? host.substr(1, host.size() - 2) : host;
}

std::optional<Address> ParseAddress(std::string_view address) {
  const AddressParts parts = SplitAddress(address);
  const std::string_view host = WithoutBrackets(parts.host);
  const bool is_bracketed = host.size() != parts.host.size();
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  if (host.empty() || is_bracketed != is_ipv6 || !parts.port) return std::nullopt;
  const auto port = ParseNumber<std::uint16_t>(*parts.port);
  if (!port) return std::nullopt;
  return Address{.host = std::string(host), .port = *port};
}

std::string JoinAddress(std::string_view host, std::uint64_t port) {
  const bool is_ipv6 = host.find(':') != std::string_view::npos;
  std::string address = is_ipv6 ? "[" : "";
  address.append(host).append(is_ipv6 ? "]:" : ":").append(std::to_string(port));
  return address;
}

}  // namespace fairlock::text
