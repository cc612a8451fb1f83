#include "server/net/http_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "server/net/web_socket_connection.h"

namespace fairlock::net {

namespace {

boost::asio::ip::tcp FamilyOf(int descriptor) {
  int family = AF_INET;
  socklen_t bytes = sizeof family;
  getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
  return family == AF_INET6 ? boost::asio::ip::tcp::v6() : boost::asio::ip::tcp::v4();
}

}  // namespace

void HttpServer::TakeConnection(int descriptor, command::ClientAddress address) {
  boost::system::error_code error;
  boost::asio::ip::tcp::socket socket(loop_.io_context());
  if (!is_closed_ && connections_.size() < connections_max_) {
    socket.assign(FamilyOf(descriptor), descriptor, error);
  }
  if (error || !socket.is_open()) {
    close(descriptor);
    return;
  }
  const auto connection = std::make_shared<HttpConnection>(loop_.turn(), api_, *this,
                                                           std::move(socket), std::move(address));
  connections_[connection.get()].http = connection;
  connection->Start();
}

void HttpServer::Keep(std::shared_ptr<WebSocketConnection> connection) {
  const void* const name = connection.get();
  connections_[name].web_socket = std::move(connection);
}

void HttpServer::Close() {
  is_closed_ = true;
  while (!connections_.empty()) {
    const Connection connection = connections_.begin()->second;
    connections_.erase(connections_.begin());
    if (connection.http) connection.http->Close();
    if (connection.web_socket) connection.web_socket->Close();
  }
}

}  // namespace fairlock::net
