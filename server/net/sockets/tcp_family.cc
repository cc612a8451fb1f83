#include "server/net/sockets/tcp_family.h"

#include <sys/socket.h>

namespace fairlock::net {

boost::asio::ip::tcp TcpFamilyOf(int descriptor) {
  int family = AF_INET;
  socklen_t bytes = sizeof family;
  getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
  return family == AF_INET6 ? boost::asio::ip::tcp::v6() : boost::asio::ip::tcp::v4();
}

}  // namespace fairlock::net
