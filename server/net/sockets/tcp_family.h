// The address family of a socket, which Asio needs to adopt the socket.
#pragma once

#include <boost/asio/ip/tcp.hpp>

namespace fairlock::net {

boost::asio::ip::tcp TcpFamilyOf(int descriptor);

}  // namespace fairlock::net
