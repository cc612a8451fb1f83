#include "server/net/sentinel/sentinel_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <string_view>
#include <utility>

#include "server/net/sockets/descriptor.h"

namespace fairlock::net {

namespace {

constexpr std::string_view kTooManyAtSentinel = "-ERR max number of clients reached\r\n";

}  // namespace

void SentinelServer::TakeConnection(int descriptor, command::ClientAddress address) {
  AssertInLoop();
  if (!is_closed_ && connections_.size() >= connections_max_) MakeRoom();
  if (is_closed_ || connections_.size() >= connections_max_) return Refuse(descriptor, address);
  boost::system::error_code error;
  boost::asio::ip::tcp::socket socket(loop_.io_context());
  socket.assign(TcpFamilyOf(descriptor), descriptor, error);
  if (error) {
    close(descriptor);
    return;
  }
  const auto connection = std::make_shared<SentinelConnection>(
      loop_.turn(), *this, watch_, std::move(socket), std::move(address));
  connections_.emplace(connection.get(), connection);
  connection->Start();
}

void SentinelServer::MakeRoom() {
  std::shared_ptr<SentinelConnection> first;
  for (const auto& [key, connection] : connections_) {
    const auto since = connection->IncompleteSince();
    if (since && (first == nullptr || *since < *first->IncompleteSince())) first = connection;
  }
  if (first != nullptr) first->Close();
}

void SentinelServer::Refuse(int descriptor, const command::ClientAddress& address) {
  Turn& turn = loop_.turn();
  ++turn.server.statistics.counters.connections_rejected;
  [[maybe_unused]] const ssize_t sent =
      ::send(descriptor, kTooManyAtSentinel.data(), kTooManyAtSentinel.size(),
             MSG_NOSIGNAL | MSG_DONTWAIT);
  close(descriptor);
  turn.events.LogRefused(address.peer, {.is_sentinel = true, .connections_max = connections_max_},
                         turn.now);
}

void SentinelServer::Publish(const sentinel::Message& message) {
  AssertInLoop();
  for (const auto& [key, connection] : connections_) connection->Publish(message);
}

void SentinelServer::Close() {
  is_closed_ = true;
  // Each connection removes itself from the list when it closes.
  while (!connections_.empty()) {
    const std::shared_ptr<SentinelConnection> connection = connections_.begin()->second;
    connection->Close();
  }
}

}  // namespace fairlock::net
