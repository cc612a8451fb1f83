#include "server/net/http/http_server.h"

#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "server/net/http/http_connection.h"
#include "server/net/sockets/descriptor.h"

namespace fairlock::net {

namespace {

// A connection that has sent nothing for less than this counts as incomplete: a request may be on
// its way.
constexpr std::chrono::milliseconds kAtOnce{100};

// The order in which connections give way to new ones.
enum class Rank : std::uint8_t { kLate, kIdle, kIncomplete, kNotReading, kStays };

Rank RankOf(const HttpPeer::State& state, HttpPeer::Clock::time_point now) {
  const bool is_late = now - state.since >= HttpServer::kHurry;
  switch (state.doing) {
    case HttpPeer::Doing::kIdle:
      return now - state.since >= kAtOnce ? Rank::kIdle : Rank::kIncomplete;
    case HttpPeer::Doing::kReceiving:
      return is_late ? Rank::kLate : Rank::kIncomplete;
    case HttpPeer::Doing::kAnswering:
      return Rank::kStays;
    case HttpPeer::Doing::kSending:
      return is_late ? Rank::kNotReading : Rank::kStays;
  }
  return Rank::kStays;
}

}  // namespace

void HttpServer::TakeConnection(int descriptor, command::ClientAddress address) {
  AssertInLoop();
  Take(descriptor, nullptr, std::move(address));
}

void HttpServer::TakeTlsConnection(std::unique_ptr<TlsSocket> tls, command::ClientAddress address) {
  Take(tls->socket(), tls->Release(), std::move(address));
}

void HttpServer::MakeRoom() {
  const auto now = HttpPeer::Clock::now();
  const auto is_before = [now](const HttpPeer& one, const HttpPeer& other) {
    return std::pair(RankOf(one.state(), now), one.state().since) <
           std::pair(RankOf(other.state(), now), other.state().since);
  };
  std::shared_ptr<HttpPeer> first;
  for (const auto& [key, peer] : peers_) {
    if (first == nullptr || is_before(*peer, *first)) first = peer;
  }
  if (first != nullptr && RankOf(first->state(), now) != Rank::kStays) first->Close();
}

void HttpServer::Take(int descriptor, SslHandle ssl, command::ClientAddress address) {
  boost::system::error_code error;
  boost::asio::ip::tcp::socket socket(loop_.io_context());
  if (!is_closed_ && peers_.size() >= connections_max_) {
    MakeRoom();
    Turn& turn = loop_.turn();
    ++turn.server.statistics.counters.connections_rejected;
    turn.events.LogRefused(address.peer, {.is_http = true, .connections_max = connections_max_},
                           turn.now);
  }
  const bool is_for_probes = peers_.size() >= connections_max_;
  if (!is_closed_ && peers_.size() < connections_max_ + kProbesMax) {
    socket.assign(TcpFamilyOf(descriptor), descriptor, error);
  }
  if (error || !socket.is_open()) {
    close(descriptor);
    return;
  }
  const auto connection = std::make_shared<HttpConnection>(
      loop_.turn(), api_, *this, HttpStream(std::move(socket), std::move(ssl)), std::move(address),
      is_for_probes);
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
