#include "server/net/sockets/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "text/address.h"

namespace fairlock::net {

std::string FormatAddress(const sockaddr_storage& address, std::string_view unix_path) {
  char host[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &ipv4.sin_addr, host, sizeof(host));
    return text::JoinAddress(host, ntohs(ipv4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &ipv6.sin6_addr, host, sizeof(host));
    return text::JoinAddress(host, ntohs(ipv6.sin6_port));
  }
  return std::string(unix_path) + ":0";
}

std::string FormatLocalAddress(int descriptor, std::string_view unix_path) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof(address);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return "";
  return FormatAddress(address, unix_path);
}

}  // namespace fairlock::net
