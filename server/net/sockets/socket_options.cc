#include "server/net/sockets/socket_options.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "text/address.h"

namespace fairlock::net {

namespace {

void Set(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof(value));
}

// With TCP_USER_TIMEOUT, the kernel considers a connection lost at the first unanswered probe after
// that time. A single probe may get lost, so several are sent before that. The intervals differ
// between connections, because simultaneous probes of thousands of connections would overflow a
// queue in the kernel.
void ApplyKeepalive(int descriptor, const SocketOptions& options) {
  constexpr int kProbes = 4;
  int idle = options.keepalive_seconds;
  int interval = std::max(1, idle / 3);
  if (options.user_timeout_ms > 0) {
    const int lost_after = options.user_timeout_ms / 1000;
    idle = std::clamp(lost_after / 2, 1, idle);
    interval = std::max(1, (lost_after - idle) / kProbes);
  }
  const auto spread = [descriptor](int seconds) {
    return std::max(1, seconds - descriptor % (seconds / 4 + 1));
  };
  Set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, spread(idle));
  Set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, spread(interval));
  Set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

void ApplyToTcp(int descriptor, const SocketOptions& options) {
  Set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  if (options.keepalive_seconds > 0) ApplyKeepalive(descriptor, options);
  if (options.user_timeout_ms > 0) {
    Set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, options.user_timeout_ms);
  }
}

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

void SendLastWords(int socket, std::string_view words) {
  [[maybe_unused]] const ssize_t sent =
      ::send(socket, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void EndInGoodOrder(int socket) {
  constexpr int kReadsMax = 16;
  char bytes[4096];
  ::shutdown(socket, SHUT_WR);
  for (int i = 0; i < kReadsMax; ++i) {
    if (::recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) return;
  }
}

}  // namespace fairlock::net
