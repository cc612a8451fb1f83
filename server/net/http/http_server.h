// The HTTP connections of the server.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

#include "server/http/api.h"
#include "server/net/http/http_connection.h"
#include "server/net/loop/turn_loop.h"
#include "server/net/sockets/acceptor.h"

namespace fairlock::net {

// On the loop's thread, in its turns. When there are as many as allowed, a new one takes the place
// of the one that has asked for nothing the longest; if all are in use it is closed at once.
// Loop-confined; destroyed before the loop.
class HttpServer final : public ConnectionSink,
                         public TlsConnectionSink,
                         public HttpConnectionOwner {
 public:
  // `loop` and `api` must outlive it.
  HttpServer(TurnLoop& loop, const http::Api& api, std::size_t connections_max)
      : loop_(loop), api_(api), connections_max_(connections_max) {}
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() { Close(); }

  // Takes no new connections from now on, and closes those that there are.
  void Close();

  void TakeConnection(int descriptor, command::ClientAddress address) override;
  void TakeTlsConnection(std::unique_ptr<TlsSocket> tls, command::ClientAddress address) override;
  void LogAcceptFailed(int error) override { loop_.LogAcceptFailed(error); }
  void Forget(const HttpPeer* peer) override { peers_.erase(peer); }
  void Keep(std::shared_ptr<HttpPeer> peer) override { peers_[peer.get()] = std::move(peer); }

 private:
  // Closes one that is idle, if there is one.
  void MakeRoom();
  void Take(int descriptor, SslHandle ssl, command::ClientAddress address);

  TurnLoop& loop_;
  const http::Api& api_;
  const std::size_t connections_max_;
  std::unordered_map<const HttpPeer*, std::shared_ptr<HttpPeer>> peers_;
  bool is_closed_ = false;
};

}  // namespace fairlock::net
