#include "server/net/http/http_server.h"

#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "server/net/sockets/tcp_family.h"

namespace fairlock::net {

void HttpServer::TakeConnection(int descriptor, command::ClientAddress address) {
  Take(descriptor, nullptr, std::move(address));
}

void HttpServer::TakeTlsConnection(std::unique_ptr<TlsSocket> tls, command::ClientAddress address) {
  Take(tls->socket(), tls->Release(), std::move(address));
}

void HttpServer::CloseLongestIdle() {
  std::shared_ptr<HttpPeer> longest;
  for (const auto& [key, peer] : peers_) {
    const auto since = peer->IdleSince();
    if (since && (longest == nullptr || *since < *longest->IdleSince())) longest = peer;
  }
  if (longest != nullptr) longest->Close();
}

void HttpServer::Take(int descriptor, SslHandle ssl, command::ClientAddress address) {
  boost::system::error_code error;
  boost::asio::ip::tcp::socket socket(loop_.io_context());
  if (!is_closed_ && peers_.size() >= connections_max_) {
    CloseLongestIdle();
    Turn& turn = loop_.turn();
    ++turn.server.statistics.counters.connections_rejected;
    turn.events.LogRefused(address.peer, {.is_http = true, .connections_max = connections_max_},
                           turn.now);
  }
  if (!is_closed_ && peers_.size() < connections_max_) {
    socket.assign(TcpFamilyOf(descriptor), descriptor, error);
  }
  if (error || !socket.is_open()) {
    close(descriptor);
    return;
  }
  const auto connection = std::make_shared<HttpConnection>(
      loop_.turn(), api_, *this, HttpStream(std::move(socket), std::move(ssl)), std::move(address));
  Add(connection);
  connection->Start();
}

std::shared_ptr<HttpForward> HttpServer::Forward(const http::Elsewhere& to,
                                                 const http::Request& request,
                                                 std::function<void(http::Answer)> done) {
  std::erase_if(forwards_, [](const auto& forward) { return forward.expired(); });
  if (is_closed_ || forwards_.size() >= kForwardsMax) return nullptr;
  auto forward = HttpForward::Start(loop_.io_context(), to, request, to_nodes_, std::move(done));
  forwards_.push_back(forward);
  return forward;
}

void HttpServer::Close() {
  is_closed_ = true;
  // Each connection removes itself from the list when it closes.
  while (!peers_.empty()) {
    const std::shared_ptr<HttpPeer> peer = peers_.begin()->second;
    peer->Close();
  }
}

}  // namespace fairlock::net
